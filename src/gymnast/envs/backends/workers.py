"""The `workers` backend: envs in several processes, arrays in shared memory, one byte per command."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
import weakref
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.in_process import restart_seed
from gymnast.envs.backends.restarts import Restarts
from gymnast.envs.backends.shared_block import SharedBlock, open_unnamed_file
from gymnast.envs.backends.worker import Share, Worker, WorkerLost, shut_down
from gymnast.envs.backends.worker_process import Answer, Command
from gymnast.envs.contract import EnvFailure, Step, close_env
from gymnast.envs.measure.cache import cores_of_a_group
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import (
    check_masks,
    episode_values,
    find_spec,
    is_alone,
    make_env,
    reward_parts,
)
from gymnast.envs.states import (
    EnvState,
    can_carry,
    check_kinds,
    checked_rows,
    env_kind,
    episodes_in,
    fresh_state,
    matches,
    rows_by_part,
    saved_envs,
    why_not_carried,
)
from gymnast.errors import GymnastError
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.plain import check_spaces, plain_action_space, plain_space

_START_PATIENCE = 5  # building an env and resetting it may take so many times longer than a step
_LEAST_START_SECONDS = 30.0  # Python and the env's libraries are imported, maybe by many at once


def why_not_workers(config: EnvConfig, render_mode: str | None = None) -> str | None:
    """Why this env cannot run in worker processes, or None if it can."""
    if os.name != "posix":
        return "worker processes need Linux or macOS"
    if render_mode is not None:
        return "rendering needs the env in this process"
    try:
        json.dumps(config.model_dump(mode="python")["kwargs"])
        json.dumps([wrapper.arguments for wrapper in config.wrappers])
    except TypeError as error:
        return f"its arguments must be plain values to be sent to a process ({error})"
    try:
        registration(config)
    except GymnastError as error:
        return str(error)
    return None


def registration(config: EnvConfig) -> str | None:
    """Gymnasium's entry as text, since it may have been made at run time and be unknown to a worker."""
    spec = find_spec(config.id)
    if spec is None:
        return None
    entry_point: Any = spec.entry_point
    if not isinstance(entry_point, str):
        module, name = entry_point.__module__, entry_point.__qualname__
        if module == "__main__" or not name.isidentifier():
            raise GymnastError(f"its class {name} is not at the top of an importable module")
        entry_point = f"{module}:{name}"
    try:
        text = dataclasses.replace(spec, entry_point=entry_point, vector_entry_point=None).to_json()
    except TypeError as error:
        raise GymnastError(f"its registration holds more than plain values ({error})") from error
    module, colon, _ = config.id.rpartition(":")
    return json.dumps({"prefix": module + colon, "spec": text})


class WorkerEnvs:
    """N envs spread over worker processes; one that dies or hangs is replaced, its episodes cut off."""

    backend = "workers"
    _replaced_how = "restarted in a new process"

    def __init__(self, config: EnvConfig, seeds: Sequence[int], *, training: bool, groups: int = 1) -> None:
        probe = make_env(config, training=training)
        try:
            check_spaces(probe.observation_space, probe.action_space, config.id)
            check_masks(config, probe.action_space)
        finally:
            close_env(probe)  # an emulator may be alone in its process, and this one is never stepped
        self.n_envs = len(seeds)
        self.seeds = list(seeds)
        self.observation_space = plain_space(probe.observation_space)
        self.action_space = plain_action_space(probe.action_space)
        self.reward_parts = reward_parts(probe)
        self.episode_values = episode_values(probe)
        self.carries_state = self.can_capture = can_carry(probe)
        self._probe = probe
        self._turn = 0
        self._sent = False  # whether a step is under way
        self._restarts = Restarts(config.restarts, self._replaced_how)
        self._patience = timeout = config.restarts.timeout  # 0: no end to it
        self._start_patience = max(_START_PATIENCE * timeout, _LEAST_START_SECONDS) if timeout else 0.0
        self._order = {
            "config": config.model_dump(mode="json"),
            "registered": registration(config),
            "training": training,
            "n_envs": self.n_envs,
            "reward_parts": self.reward_parts,
            "episode_values": self.episode_values,
        }
        self._memory = open_unnamed_file()
        self._block = SharedBlock(
            self._memory.fileno(),
            self.n_envs,
            self.observation_space,
            self.action_space,
            self.reward_parts,
            MaskReader(self.action_space).size if config.action_masks else 0,
            self.episode_values,
        )
        self._steps = [bytes([Command.STEP_0]), bytes([Command.STEP_1])]
        most = self._most_shares(config, groups)
        count = self.n_envs if is_alone(probe) else min(most, self.n_envs)
        edges = [self.n_envs * share // count for share in range(count + 1)]
        self._workers: list[Share] = []
        # Also when the object is dropped without close, and at exit.
        self._finalizer = weakref.finalize(self, *self._ending())
        try:
            for rows in pairwise(edges):
                self._workers.append(self._launch(rows))
            for worker in self._workers:
                self._await_start(worker)
        except BaseException:
            self.close()
            raise

    def _most_shares(self, config: EnvConfig, groups: int) -> int:
        """How many processes share the envs at most."""
        return config.workers or cores_of_a_group(groups)

    def _ending(self) -> tuple[Any, ...]:
        """A function that ends all processes, with its arguments; it must not hold this object."""
        return shut_down, self._workers

    def _open(self, rows: tuple[int, int]) -> Share:
        return Worker(rows, self._memory.fileno())

    def _launch(self, rows: tuple[int, int]) -> Share:
        worker = self._open(rows)
        worker.send({**self._order, "rows": rows, "seeds": self.seeds[slice(*rows)]})
        return worker

    def _await_start(self, worker: Share) -> None:
        """Wait until its envs are built; GymnastError if they cannot be."""
        try:
            answer = worker.message(self._start_patience)
        except WorkerLost as lost:
            raise GymnastError(
                f"env.backend {self.backend}: env {worker.rows[0]} could not be started: {lost}"
            ) from None
        if "error" in answer:
            raise GymnastError(answer["error"])

    @property
    def masks(self) -> np.ndarray | None:
        return self._block.frames[self._turn].masks

    @property
    def restarts(self) -> int:
        """Processes restarted so far."""
        return self._restarts.count

    def reset(self) -> np.ndarray:
        self._turn = 1 - self._turn
        self._tell(bytes([Command.RESET_0 + self._turn]))
        _, lost = self._gather(self._start_patience)
        for worker in lost:
            self._replace(worker)
        return self._block.frames[self._turn].step.obs

    def step(self, actions: np.ndarray) -> Step:
        self.send(actions)
        return self.receive()

    def send(self, actions: np.ndarray) -> None:
        if self._sent:
            raise RuntimeError("send was called twice without receive")
        self._turn = 1 - self._turn
        self._block.actions[:] = actions
        self._tell(self._steps[self._turn])
        self._sent = True

    def receive(self) -> Step:
        if not self._sent:
            raise RuntimeError("receive was called without send")
        self._sent = False
        frame = self._block.frames[self._turn]
        finished, lost = self._gather(self._patience)
        for worker in lost:
            self._replace(worker)
            self._cut_off(frame, slice(*worker.rows))
        return frame.finish(finished or bool(lost))

    def _tell(self, command: bytes) -> None:
        for worker in self._workers:
            worker.command(command)

    def _gather(self, seconds: float) -> tuple[bool, list[Share]]:
        """Hear every worker: whether an env finished in one of them, and those that are lost."""
        if not self._workers:
            raise GymnastError("these envs are closed")
        finished, lost, failure = False, [], None
        since = time.monotonic()  # all have the same time: several that hang are not waited for in turn
        for worker in self._workers:
            try:
                answer = worker.answer(seconds, since)
                if answer == Answer.FAILED:
                    # All others are heard first, so that no answer is left in a pipe.
                    failure = failure or EnvFailure(**worker.message(seconds))
            except WorkerLost:
                lost.append(worker)
                continue
            finished = finished or answer == Answer.SOME_FINISHED
        if failure is not None:
            raise failure
        return finished, lost

    def _replace(self, worker: Share) -> None:
        """A new process in the place of a lost one, its envs reset in the frame of now.

        It starts from other seeds, so that what ended the last one is not played again.
        """
        rows, place = worker.rows, self._workers.index(worker)
        while worker.lost is not None:
            if self._restarts.spent:
                raise self._failure(worker)
            self._restarts.begin(rows, worker.lost)
            for index in range(*rows):
                self.seeds[index] = restart_seed(self.seeds[index], self._restarts.count)
            self._workers[place] = worker = self._launch(rows)
            with contextlib.suppress(WorkerLost):  # then it is `lost`, and the next one is tried
                self._begin_again(worker)

    def _begin_again(self, worker: Share) -> None:
        if "error" in (built := worker.message(self._start_patience)):
            index = worker.rows[0]
            raise EnvFailure(index, self.seeds[index], f"could not be started again: {built['error']}")
        worker.command(bytes([Command.RESET_0 + self._turn]))
        if worker.answer(self._start_patience) == Answer.FAILED:
            raise EnvFailure(**worker.message(self._start_patience))

    def _cut_off(self, frame: Frame, rows: slice) -> None:
        """The step of lost envs: nothing came of it, and their episodes end with what was seen last."""
        step = frame.step
        step.rewards[rows] = 0.0
        step.terminated[rows] = False
        step.truncated[rows] = True
        frame.life_lost[rows], frame.lost[rows] = False, True
        frame.final_obs[rows] = self._block.frames[1 - self._turn].step.obs[rows]
        for shares in step.reward_parts.values():
            shares[rows] = 0.0
        for values in step.episode_values.values():
            values[rows] = np.nan

    def _failure(self, worker: Share) -> EnvFailure:
        index = worker.rows[0]
        return EnvFailure(index, self.seeds[index], f"is lost: {worker.lost}{self._restarts.describe_end()}")

    def snapshot(self) -> dict[str, Any]:
        """A worker that is found lost here is replaced in the next step, which cuts its episodes off."""
        envs: list[dict[str, Any]] = []
        for worker in self._workers:
            worker.command(bytes([Command.SNAPSHOT]))
            try:
                worker.answer(self._patience)
                envs += worker.message(self._patience)["envs"]
            except WorkerLost:
                if self._restarts.spent:
                    raise self._failure(worker) from None
                envs += [fresh_state(seed) for seed in self.seeds[slice(*worker.rows)]]
        return {"kind": "single", "envs": envs}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        saved = saved_envs(snapshot)
        exact = len(saved) == self.n_envs and all(matches(self._probe, state) for state in saved)
        self._turn = 1 - self._turn
        for worker in self._workers:
            start, stop = worker.rows
            worker.command(bytes([Command.RESTORE_0 + self._turn]))
            worker.send({"envs": saved[start:stop], "exact": exact, "started": episodes_in(snapshot)})
        _, lost = self._gather(self._start_patience)
        if lost:  # half of the envs restored and half new cannot be reported
            raise self._failure(lost[0])
        return None if exact else self._block.frames[self._turn].step.obs

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        rows = checked_rows(rows, self.n_envs)
        if not self.can_capture:
            raise GymnastError(f"this env cannot be captured: {why_not_carried(self._probe)}")
        shares = self._shares(rows)
        messages = [{"rows": local} for _, _, local in shares]
        answers = self._ask(Command.CAPTURE_0, [worker for worker, _, _ in shares], messages)
        states: dict[int, EnvState] = {}
        for (_, places, _), answer in zip(shares, answers, strict=True):
            states |= zip(places, map(EnvState.from_json, answer["states"]), strict=True)
        return [states[place] for place in range(len(rows))]

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        rows = checked_rows(rows, self.n_envs)
        if not self.can_capture:
            raise GymnastError(f"this env has no states: {why_not_carried(self._probe)}")
        check_kinds(states, rows, env_kind(self._probe))
        shares = self._shares(rows)
        messages = [
            {"rows": local, "states": [states[place].to_json() for place in places]}
            for _, places, local in shares
        ]
        self._ask(Command.BEGIN_0, [worker for worker, _, _ in shares], messages)
        return self._block.frames[self._turn].step.obs[rows]

    def _shares(self, rows: Sequence[int]) -> list[tuple[Share, list[int], list[int]]]:
        """The workers of some rows, with the places among `rows` and their own rows, each."""
        parts = [slice(*worker.rows) for worker in self._workers]
        return [(self._workers[i], places, local) for i, places, local in rows_by_part(rows, parts)]

    def _ask(self, command: Command, workers: list[Share], messages: list[Any]) -> list[Any]:
        """Send a command of the current frame with a message to some workers; their answers.

        A worker that is found lost here is replaced in the next step, which cuts its episodes off.
        """
        for worker, message in zip(workers, messages, strict=True):
            worker.command(bytes([command + self._turn]))
            worker.send(message)
        answers: list[Any] = []
        problem: Exception | None = None
        for worker in workers:  # all are heard before anything is raised, so that no answer is left in a pipe
            try:
                answer = worker.answer(self._start_patience)
                said: Any = None if answer == Answer.DONE else worker.message(self._start_patience)
            except WorkerLost as lost:
                problem = problem or self._lost_for_now(worker, str(lost))
                continue
            if answer == Answer.FAILED:
                problem = problem or EnvFailure(**said)
            elif answer == Answer.REFUSED:
                problem = problem or GymnastError(said["error"])
            answers.append(said)
        if problem is not None:
            raise problem
        return answers

    def _lost_for_now(self, worker: Share, reason: str) -> EnvFailure:
        if self._restarts.spent:
            return self._failure(worker)
        index = worker.rows[0]
        return EnvFailure(index, self.seeds[index], f"is lost: {reason}; the next step replaces it")

    @property
    def process_ids(self) -> list[int]:
        """Of the workers, in the order of their envs."""
        return [worker.pid for worker in self._workers]

    def close(self) -> None:
        self._finalizer()
        self._memory.close()
