"""Evaluation in a process of its own, so that training goes on meanwhile.

The process gets a copy of the weights, never the live ones, and one evaluation at a time: while it
is busy, a due evaluation is left out rather than queued, since its result would come too late to
act on. When a result arrives depends on the machine, so a run that stops on its score may stop at
another update when repeated; its learning is the same.
"""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from gymnast.config.schema import Config
from gymnast.errors import RunFailed
from gymnast.policies.policy import Policy
from gymnast.rollout.evaluate import Score
from gymnast.training.evaluator import InlineEvaluator, Progress, Result


class BackgroundEvaluator:
    """Hands weights to the process and picks up scores."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._process: Any = None
        self._pipe: Connection | None = None
        self._busy = False

    def start(self, policy: Policy, env_steps: int, progress: Progress | None = None) -> None:
        """Begin to score a copy of the policy; left out while the last one is not done."""
        if self._busy:
            return
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(self._config.model_dump(), theirs), daemon=True)
            self._process.start()
            theirs.close()
        self._pipe.send((policy.arrays(), env_steps))
        self._busy = True

    def poll(self) -> Result | None:
        return self._receive() if self._busy and self._pipe is not None and self._pipe.poll() else None

    def wait(self) -> Result | None:
        return self._receive() if self._busy else None

    @property
    def busy(self) -> bool:
        return self._busy

    def _receive(self) -> Result:
        assert self._pipe is not None
        try:
            answer = self._pipe.recv()
        except EOFError:
            raise RunFailed("the evaluation process died; set eval.background=false to see why") from None
        self._busy = False
        if isinstance(answer, str):
            raise RunFailed(f"evaluation failed: {answer}")
        returns, lengths, seconds, env_steps = answer
        return Result(Score(returns, lengths, seconds), env_steps)

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()  # the process ends when its pipe does
            self._process.join(timeout=1.0)
            if self._process.is_alive():
                self._process.kill()


def _serve(config_values: dict[str, Any], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer, which closes the pipe
    from threadpoolctl import threadpool_limits

    from gymnast.policies.build import build_policy

    config = Config.model_validate(config_values)
    evaluator = InlineEvaluator(config)
    policy: Policy | None = None
    with threadpool_limits(1):
        while True:
            try:
                arrays, env_steps = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                if policy is None:
                    envs = evaluator.envs()
                    spaces = envs.observation_space, envs.action_space
                    policy = build_policy(config.policy, config.engine, *spaces, seed=0)
                policy.load_arrays({name: np.asarray(value) for name, value in arrays.items()})
                score = evaluator.start(policy, env_steps).score
                pipe.send((score.returns, score.lengths, score.seconds, env_steps))
            except (EOFError, OSError):
                return
            except Exception as error:
                pipe.send(f"{type(error).__name__}: {error}")
