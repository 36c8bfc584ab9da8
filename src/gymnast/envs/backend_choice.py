"""Backend `auto`: a rule where the answer is clear, a short measurement where it is not.

The measured choice is remembered per machine in the user's cache folder, so only the first run of
an env pays for it. A cache that is damaged or cannot be written is ignored.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gymnast.envs.actions import random_actions
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

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
    key = _key(config, n_envs, training)
    remembered = _recall(key)
    if remembered is None:
        remembered = _measure(build)
        _remember(key, remembered)
    return remembered


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
    """The actions drawn beforehand, unless masks say that others are wanted now."""
    if envs.masks is None:
        return actions
    return random_actions(envs.action_space, envs.n_envs, random, envs.masks)


def usable_cores() -> int:
    """Cores this process may run on; containers and `taskset` allow fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _key(config: EnvConfig, n_envs: int, training: bool) -> str:
    """All that the answer depends on: the env as configured, how many, the machine, the versions."""
    # Imported here and below: CartPole starts without them, and they take a while.
    import hashlib
    import platform
    from importlib.metadata import version

    what = {
        "env": config.model_dump(
            mode="json", include={"id", "kwargs", "wrappers", "workers", "max_episode_steps"}
        ),
        "n_envs": n_envs,
        "training": training,
        "machine": [
            platform.node(),
            platform.machine(),
            platform.processor(),
            os.cpu_count(),
            usable_cores(),
        ],
        "versions": [
            platform.python_version(),
            *map(version, ("gymnast", "gymnasium", "numpy")),
        ],
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()


def cache_file() -> Path:
    """`backends.json` below GYMNAST_CACHE_DIR, or the user's cache folder."""
    own = os.environ.get("GYMNAST_CACHE_DIR")
    if own:
        return Path(own) / "backends.json"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gymnast" / "backends.json"


def _read_cache() -> dict[str, str]:
    try:
        cached = json.loads(cache_file().read_text())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no home
        return {}
    return cached if isinstance(cached, dict) else {}


def _recall(key: str) -> str | None:
    choice = _read_cache().get(key)
    return choice if choice in ("sync", "workers") else None


def _remember(key: str, choice: str) -> None:
    """Added by a whole new file in the old one's place: a reader never meets half of it."""
    import tempfile

    try:
        path = cache_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as new:
            json.dump({**_read_cache(), key: choice}, new)
        Path(new.name).replace(path)
    except (OSError, RuntimeError):
        pass
