"""The `workers` backend: envs in several processes, arrays in shared memory, one byte a command.

Workers are started as programs of their own and not through `multiprocessing`: nothing of the
main process (threads, torch, a `__main__` without a guard) is copied or run again in them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gymnast.envs.actions import check_masks, plain_action_space
from gymnast.envs.backend_choice import usable_cores
from gymnast.envs.contract import EnvFailure, Step
from gymnast.envs.in_process import saved_envs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.shared_block import SharedBlock, open_unnamed_file, receive, send
from gymnast.envs.single import episode_values, find_spec, make_env, reward_parts
from gymnast.envs.snapshot import can_carry, matches
from gymnast.envs.spaces import check_spaces, plain_space
from gymnast.envs.worker_process import Answer, Command
from gymnast.errors import GymnastError
from gymnast.policies.masks import MaskReader

_CLOSE_SECONDS = 1.0  # what a worker gets to close its envs before it is killed
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from gymnast.envs.worker_process import main; main(*map(int, sys.argv[2:]))"
)


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
        return dataclasses.replace(spec, entry_point=entry_point, vector_entry_point=None).to_json()
    except TypeError as error:
        raise GymnastError(f"its registration holds more than plain values ({error})") from error


class _Worker:
    """One process, the pipes to it, and the envs that are its share."""

    def __init__(self, rows: tuple[int, int], memory_fd: int) -> None:
        self.rows = rows
        command_read, self.command_fd = os.pipe()
        self.answer_fd, answer_write = os.pipe()
        lifeline_read, self.lifeline_fd = os.pipe()
        theirs = (command_read, answer_write, memory_fd, lifeline_read)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), *map(str, theirs)],
            pass_fds=theirs,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C and hang-up go to the main process alone
        )
        # Kept by the child alone, so that its death closes them.
        for fd in (command_read, answer_write, lifeline_read):
            os.close(fd)

    def command(self, command: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # dead: reading its answer says so
            os.write(self.command_fd, command)

    def send(self, message: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            send(self.command_fd, message)

    def answer(self) -> int:
        received = os.read(self.answer_fd, 1)
        if not received:
            raise EOFError
        return received[0]

    def last_words(self) -> str:
        """How the process ended."""
        try:
            code = self.process.wait(timeout=_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            return "its worker process stopped answering"
        if code < 0:
            return f"its worker process was killed by {signal.Signals(-code).name}"
        return f"its worker process ended with code {code}"


def _shut_down(workers: list[_Worker]) -> None:
    """Let go of every worker at once, then see that each has ended."""
    for worker in workers:
        for fd in (worker.command_fd, worker.answer_fd, worker.lifeline_fd):
            os.close(fd)
    deadline = time.monotonic() + _CLOSE_SECONDS
    for worker in workers:
        try:
            worker.process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
    workers.clear()


class WorkerEnvs:
    """N envs spread over worker processes."""

    backend = "workers"

    def __init__(self, config: EnvConfig, seeds: Sequence[int], *, training: bool) -> None:
        probe = make_env(config, training=training)
        check_spaces(probe.observation_space, probe.action_space, config.id)
        check_masks(config, probe.action_space)
        self.n_envs = len(seeds)
        self.seeds = list(seeds)
        self.observation_space = plain_space(probe.observation_space)
        self.action_space = plain_action_space(probe.action_space)
        self.reward_parts = reward_parts(probe)
        self.episode_values = episode_values(probe)
        self.carries_state = can_carry(probe)
        self._probe = probe
        self._turn = 0
        self._sent = False  # whether a step is under way
        with open_unnamed_file() as memory:
            self._block = SharedBlock(
                memory.fileno(),
                self.n_envs,
                self.observation_space,
                self.action_space,
                self.reward_parts,
                MaskReader(self.action_space).size if config.action_masks else 0,
                self.episode_values,
            )
            count = min(config.workers or usable_cores(), self.n_envs)
            edges = [self.n_envs * share // count for share in range(count + 1)]
            self._workers: list[_Worker] = []
            # Also when the object is dropped without close, and at exit.
            self._finalizer = weakref.finalize(self, _shut_down, self._workers)
            for rows in pairwise(edges):
                self._workers.append(_Worker(rows, memory.fileno()))
        self._steps = [bytes([Command.STEP_0]), bytes([Command.STEP_1])]
        try:
            self._start(config, training)
        except BaseException:
            self.close()
            raise

    def _start(self, config: EnvConfig, training: bool) -> None:
        order = {
            "config": config.model_dump(mode="json"),
            "registered": registration(config),
            "training": training,
            "n_envs": self.n_envs,
            "reward_parts": self.reward_parts,
            "episode_values": self.episode_values,
        }
        for worker in self._workers:
            start, stop = worker.rows
            worker.send({**order, "rows": worker.rows, "seeds": self.seeds[start:stop]})
        for worker in self._workers:
            try:
                answer = receive(worker.answer_fd)
            except EOFError:
                raise GymnastError(
                    f"env.backend workers: env {worker.rows[0]} could not be started: {worker.last_words()}"
                ) from None
            if "error" in answer:
                raise GymnastError(answer["error"])

    @property
    def masks(self) -> np.ndarray | None:
        return self._block.frames[self._turn].masks

    def reset(self) -> np.ndarray:
        self._turn = 1 - self._turn
        self._tell(bytes([Command.RESET_0 + self._turn]))
        self._gather()
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
        finished = self._gather()
        frame.step.final_obs = frame.final_obs if finished else None
        return frame.step

    def _tell(self, command: bytes) -> None:
        for worker in self._workers:
            worker.command(command)

    def _gather(self) -> bool:
        if not self._workers:
            raise GymnastError("these envs are closed")
        finished, failure = False, None
        for worker in self._workers:
            try:
                answer = worker.answer()
                if answer == Answer.FAILED:
                    # All others are heard first, so that no answer is left in a pipe.
                    failure = failure or EnvFailure(**receive(worker.answer_fd))
            except EOFError:
                index = worker.rows[0]
                failure = failure or EnvFailure(index, self.seeds[index], f"is lost: {worker.last_words()}")
                continue
            finished = finished or answer == Answer.SOME_FINISHED
        if failure is not None:
            raise failure
        return finished

    def snapshot(self) -> dict[str, Any]:
        envs: list[dict[str, Any]] = []
        for worker in self._workers:
            worker.command(bytes([Command.SNAPSHOT]))
            try:
                worker.answer()
                envs += receive(worker.answer_fd)["envs"]
            except EOFError:
                index = worker.rows[0]
                raise EnvFailure(index, self.seeds[index], f"is lost: {worker.last_words()}") from None
        return {"kind": "single", "envs": envs}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        saved = saved_envs(snapshot)
        exact = len(saved) == self.n_envs and all(matches(self._probe, state) for state in saved)
        self._turn = 1 - self._turn
        for worker in self._workers:
            start, stop = worker.rows
            worker.command(bytes([Command.RESTORE_0 + self._turn]))
            worker.send({"envs": saved[start:stop], "exact": exact})
        self._gather()
        return None if exact else self._block.frames[self._turn].step.obs

    @property
    def process_ids(self) -> list[int]:
        """Of the workers, in the order of their envs."""
        return [worker.process.pid for worker in self._workers]

    def close(self) -> None:
        self._finalizer()
        self._probe.close()
