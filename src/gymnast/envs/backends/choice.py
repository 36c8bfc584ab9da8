"""Backend `auto`: a rule where the answer is clear, a short measurement where it is not.

The measured choice is remembered for the machine (`envs/measure/cache.py`), so only the first run of an env
pays for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.measure.cache import measured_key, recall, remember
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError
from gymnast.spaces.plain import random_actions

FEWEST_FOR_NATIVE = 4  # below, single envs cost no more
WORTH_WORKERS_SECONDS = 3e-4  # a sync step of all envs; below, waking processes costs what they save
WORKERS_MUST_WIN_BY = 1.25  # they also take a core each and time to start
_MEASURED_SECONDS = 0.08  # for each candidate

Build = Callable[[str], Envs]


def choose_backend(
    config: EnvConfig,
    n_envs: int,
    *,
    build: Build,
    native_possible: Callable[[], bool],
    workers_possible: Callable[[], bool],
    training: bool = True,
    alone: bool = False,
) -> str:
    """The backend to use; `build` makes one by name, for measuring.

    Envs that must be `alone` in a process get workers even if there is one: evaluation has its own beside.
    """
    if alone:
        return "workers" if workers_possible() else "sync"
    if n_envs == 1:
        return "sync"
    if n_envs >= FEWEST_FOR_NATIVE and native_possible():
        return "native"
    if not workers_possible():
        return "sync"
    key = measured_key(config, n_envs=n_envs, training=training)
    if (remembered := recall("backends", key)) in ("sync", "workers"):
        return str(remembered)
    measured = _measure(build)
    remember("backends", key, measured)
    return measured


def _measure(build: Build) -> str:
    """sync or workers, by stepping with random actions. An env that fails is for training to report."""
    try:
        sync_seconds = _seconds_per_step(build("sync"))
        if sync_seconds < WORTH_WORKERS_SECONDS:
            return "sync"
        return (
            "workers" if sync_seconds > WORKERS_MUST_WIN_BY * _seconds_per_step(build("workers")) else "sync"
        )
    except (EnvFailure, GymnastError):
        return "sync"


def _seconds_per_step(envs: Envs) -> float:
    """The median over a short while: one slow reset or a busy moment must not decide."""
    try:
        envs.reset()
        random = np.random.default_rng(0)
        actions = [random_actions(envs.action_space, envs.n_envs, random) for _ in range(8)]
        envs.step(_allowed(envs, actions[0], random))
        took: list[float] = []
        end = time.perf_counter() + _MEASURED_SECONDS
        while len(took) < 3 or (time.perf_counter() < end and len(took) < 500):
            chosen = _allowed(envs, actions[len(took) % 8], random)
            start = time.perf_counter()
            envs.step(chosen)
            took.append(time.perf_counter() - start)
        return float(np.median(took))
    finally:
        envs.close()


def _allowed(envs: Envs, actions: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The actions drawn beforehand, unless masks ask for others now."""
    if envs.masks is None:
        return actions
    return random_actions(envs.action_space, envs.n_envs, random, envs.masks)
