"""Evaluation in a process of its own, so that training goes on meanwhile.

The process gets a copy of the weights, never the live ones, and one evaluation at a time: while it
is busy, a due evaluation is left out rather than queued, since its result would come too late to
act on. When a result arrives depends on the machine, so a run that stops on its score may stop at
another update when repeated; its learning is the same.

It is started as a program of its own, as env workers are: nothing of the main process is run again
in it, and Ctrl-C or a SIGTERM to the whole group reaches the trainer alone.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from gymnast.config.schema import Config
from gymnast.envs.backends.worker_process import exit_with_parent, register
from gymnast.envs.backends.workers import registration, why_not_workers
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.policy import Policy
from gymnast.rollout.evaluate import Score
from gymnast.training.evaluator import InlineEvaluator, Progress, Result
from gymnast.training.run.notices import passed_on

_CLOSE_SECONDS = 1.0
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from gymnast.training.background_evaluator import main; main(*map(int, sys.argv[2:]))"
)


class BackgroundEvaluator:
    """Hands weights to the process and picks up scores."""

    def __init__(self, config: Config) -> None:
        for env in _single_envs(config):
            if (reason := why_not_workers(env)) is not None:
                raise GymnastError(f"eval.background cannot be used for '{env.id}': {reason}")
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = False

    def start(self, policy: Policy, env_steps: int, progress: Progress | None = None) -> None:
        """Begin to score a copy of the policy; left out while the last one is not done."""
        if self._busy:
            return
        if self._process is None:
            self._launch()
        self._busy = True
        try:
            self._pipe.send((policy.arrays(), env_steps))
        except OSError:
            raise self._died() from None

    def _launch(self) -> None:
        """Start the process. The lifeline is never written to: it closes when this process is gone."""
        ours, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        fds = (theirs.fileno(), lifeline)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), *map(str, fds)],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        os.close(lifeline)
        self._pipe = Connection(ours.detach())
        self._pipe.send(
            (self._config.model_dump(), [registration(env) for env in _single_envs(self._config)])
        )

    def poll(self) -> Result | None:
        return self._receive() if self._busy and self._pipe.poll() else None

    def wait(self) -> Result | None:
        return self._receive() if self._busy else None

    @property
    def busy(self) -> bool:
        return self._busy

    def _receive(self) -> Result:
        try:
            answer, notices = self._pipe.recv()
        except (EOFError, OSError):
            raise self._died() from None
        self._busy = False
        for notice in notices:
            logging.getLogger("gymnast").warning("%s", notice)
        if isinstance(answer, str):
            raise RunFailed(f"evaluation failed: {answer}")
        score, env_steps = answer
        return Result(Score(*score), env_steps)

    def _died(self) -> RunFailed:
        return RunFailed("the evaluation process died; set eval.background=false to see why")

    def close(self) -> None:
        if self._process is None:
            return
        self._pipe.close()  # the process ends when its pipe does
        os.close(self._lifeline)
        try:
            self._process.wait(timeout=_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:  # amid an evaluation that nobody waits for
            self._process.kill()
            self._process.wait()
        self._process = None


def _single_envs(config: Config) -> list[EnvConfig]:
    """The envs that the process must be able to build."""
    return [task.env for task in config.env.tasks] or [config.env]


def main(pipe_fd: int, lifeline_fd: int) -> None:
    """What runs inside the process: score what arrives, until the pipe closes."""
    threading.Thread(target=exit_with_parent, args=(lifeline_fd,), daemon=True).start()
    try:
        with Connection(pipe_fd) as pipe:
            _serve(pipe)
    except (EOFError, OSError):
        pass  # the trainer is gone, or wants no more


def _serve(pipe: Connection) -> None:
    from threadpoolctl import threadpool_limits

    from gymnast.policies.build import build_policy
    from gymnast.policies.load import stored_value_heads

    config_values, registered = pipe.recv()
    for text in registered:
        register(text)
    config = Config.model_validate(config_values)
    evaluator = InlineEvaluator(config)
    policy: Policy | None = None
    notices: list[str] = []
    with threadpool_limits(1), passed_on(notices.append):
        while True:
            arrays, env_steps = pipe.recv()
            answer: Any
            try:
                if policy is None:
                    envs = evaluator.envs()
                    spaces = envs.observation_space, envs.action_space
                    built = config.policy, config.engine, *spaces, None, config.device, config.precision
                    policy = build_policy(*built, stored_value_heads(arrays))
                policy.load_arrays({name: np.asarray(value) for name, value in arrays.items()})
                score = evaluator.start(policy, env_steps).score
                answer = (score.returns, score.lengths, score.seconds, score.values, score.tasks), env_steps
            except Exception as error:
                answer = str(error) if isinstance(error, GymnastError) else f"{type(error).__name__}: {error}"
            pipe.send((answer, tuple(notices)))
            notices.clear()
