"""Evaluation in a process of its own, so that training continues meanwhile.

The process gets a copy of the weights, never the live ones, and one evaluation at a time: while it
is busy, a due evaluation is skipped rather than queued, since its result would come too late to
act on. When a result arrives depends on the machine, so a run that stops on its score may stop at
another update when repeated; its learning is the same.
"""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from typing import Any

from gymnast.config.schema import Config
from gymnast.envs.backends.worker_process import register
from gymnast.envs.backends.workers import registration, why_not_workers
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.policy import Policy
from gymnast.processes.messages import has_arrived, receive, receive_attached, send
from gymnast.processes.start import Child, start_child
from gymnast.rollout.evaluate import Score
from gymnast.rollout.source import Progress
from gymnast.runs.arrays import pack, unpack
from gymnast.training.evaluator import InlineEvaluator, Result
from gymnast.training.notices import passed_on

_CLOSE_SECONDS = 1.0
_LOOK_SECONDS = 0.05


class BackgroundEvaluator:
    """Sends weights to the process and receives scores."""

    def __init__(self, config: Config) -> None:
        for env in _single_envs(config):
            if (reason := why_not_workers(env)) is not None:
                raise GymnastError(f"eval.background cannot be used for '{env.id}': {reason}")
        self._config = config
        self._child: Child | None = None
        self._busy = False

    def start(self, policy: Policy, env_steps: int, progress: Progress | None = None) -> None:
        """Start to score a copy of the policy; skipped while the last evaluation is not done."""
        if self._busy:
            return
        self._busy = True
        try:
            if self._child is None:
                self._launch()
            send(self._socket.fileno(), {"env_steps": env_steps}, pack(policy.arrays()))
        except OSError:
            raise self._died() from None

    def _launch(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:  # kept by the child alone, so that its death closes it
            self._child = start_child(f"{__name__}:main", (theirs.fileno(),))
        registered = [registration(env) for env in _single_envs(self._config)]
        order = {"config": self._config.model_dump(mode="json"), "registered": registered}
        send(self._socket.fileno(), order)

    def poll(self) -> Result | None:
        return self._receive() if self._busy and has_arrived(self._socket.fileno()) else None

    def wait(self, progress: Progress) -> Result | None:
        while self._busy and not has_arrived(self._socket.fileno(), _LOOK_SECONDS):
            progress(0, self._config.eval.episodes)
        return self._receive() if self._busy else None

    @property
    def busy(self) -> bool:
        return self._busy

    def _receive(self) -> Result:
        try:
            answer = receive(self._socket.fileno())
        except (EOFError, OSError):
            raise self._died() from None
        self._busy = False
        for notice in answer["notices"]:
            logging.getLogger("gymnast").warning("%s", notice)
        if "problem" in answer:
            raise RunFailed(f"evaluation failed: {answer['problem']}")
        return Result(_score_from(answer["score"]), answer["env_steps"])

    def _died(self) -> RunFailed:
        return RunFailed("the evaluation process died; set eval.background=false to see why")

    def close(self) -> None:
        if self._child is None:
            return
        self._socket.close()  # the process ends when this does, unless it is evaluating
        self._child.end(_CLOSE_SECONDS)
        self._child = None


def _single_envs(config: Config) -> list[EnvConfig]:
    """The envs that the process must be able to build."""
    return [task.env for task in config.env.tasks] or [config.env]


def _as_json(score: Score) -> dict[str, Any]:
    return {
        "returns": [float(value) for value in score.returns],
        "lengths": [int(value) for value in score.lengths],
        "seconds": float(score.seconds),
        "values": {name: [float(value) for value in values] for name, values in score.values.items()},
        "tasks": list(score.tasks),
    }


def _score_from(answer: dict[str, Any]) -> Score:
    return Score(
        returns=tuple(answer["returns"]),
        lengths=tuple(answer["lengths"]),
        seconds=answer["seconds"],
        values={name: tuple(values) for name, values in answer["values"].items()},
        tasks=tuple(answer["tasks"]),
    )


def main(fd: int) -> None:
    """What runs inside the process: score what arrives, until the trainer closes the socket or is gone."""
    with suppress(EOFError, OSError):
        _serve(fd)


def _serve(fd: int) -> None:
    from threadpoolctl import threadpool_limits

    from gymnast.policies.build import build_policy
    from gymnast.policies.load import stored_value_heads

    order = receive(fd)
    for text in order["registered"]:
        register(text)
    config = Config.model_validate(order["config"])
    evaluator = InlineEvaluator(config)
    policy: Policy | None = None
    notices: list[str] = []
    with threadpool_limits(1), passed_on(notices.append):
        while True:
            asked, packed = receive_attached(fd)
            answer: dict[str, Any]
            try:
                arrays = unpack(packed)
                if policy is None:
                    envs = evaluator.envs()
                    spaces = envs.observation_space, envs.action_space
                    built = config.policy, config.engine, *spaces, None, config.device, config.precision
                    policy = build_policy(*built, stored_value_heads(arrays))
                policy.load_arrays(arrays)
                result = evaluator.start(policy, asked["env_steps"])
                answer = {"score": _as_json(result.score), "env_steps": result.env_steps}
            except Exception as error:
                own = isinstance(error, GymnastError)
                answer = {"problem": str(error) if own else f"{type(error).__name__}: {error}"}
            send(fd, answer | {"notices": notices})
            notices.clear()
