"""One measurement of `gymnast tune-envs`, in a process of its own: nothing is left over from the last one."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gymnast.envs.backends.worker_process import register
from gymnast.envs.build import build_envs
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.measure.memory import tree_memory
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError
from gymnast.processes.messages import receive, send
from gymnast.spaces.plain import random_actions

_WARM_UP = 3  # steps that are not counted: libraries load, caches fill


@dataclass(frozen=True, slots=True)
class Measured:
    """What stepping with random actions came to."""

    steps_per_second: float  # of single envs
    memory: int | None  # bytes, of the process and all that it started
    steps_between_rewards: float | None  # None: there was no reward


def main(fd: int) -> None:
    """Measure what is ordered, and answer."""
    order: dict[str, Any] = receive(fd)
    try:
        register(order["registered"])
        config = EnvConfig.model_validate(order["config"])
        answer: dict[str, Any] = asdict(measure(config, order["n_envs"], order["backend"], order["seconds"]))
    except (EnvFailure, GymnastError) as error:
        answer = {"problem": str(error)}
    except MemoryError:
        answer = {"problem": "there was not enough memory"}
    send(fd, answer)


def measure(config: EnvConfig, n_envs: int, backend: str, seconds: float) -> Measured:
    """Build the envs as training does, and step them for so long."""
    envs = build_envs(config, n_envs=n_envs, seed=0, backend=backend)
    try:
        return _step(envs, seconds)
    finally:
        envs.close()


def _step(envs: Envs, seconds: float) -> Measured:
    random = np.random.default_rng(0)
    envs.reset()
    drawn = [random_actions(envs.action_space, envs.n_envs, random) for _ in range(16)]
    rewarded = vec_steps = 0
    start = end = 0.0
    while vec_steps < _WARM_UP + 1 or time.perf_counter() < end:
        actions = drawn[vec_steps % len(drawn)]
        if envs.masks is not None:
            actions = random_actions(envs.action_space, envs.n_envs, random, envs.masks)
        rewarded += int(np.count_nonzero(envs.step(actions).rewards))
        vec_steps += 1
        if vec_steps == _WARM_UP:
            start = time.perf_counter()
            end = start + seconds
    took = time.perf_counter() - start
    return Measured(
        steps_per_second=(vec_steps - _WARM_UP) * envs.n_envs / took,
        memory=tree_memory(),
        steps_between_rewards=vec_steps * envs.n_envs / rewarded if rewarded else None,
    )
