"""Short real runs, stopped after a chosen update, and what is left of them to compare."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint
from gymnast.training.requests import Request
from gymnast.training.run.keys import TerminalKeys

# What depends on the clock; all else must repeat to the last bit.
CLOCK = ("time/seconds", "time/fps", "time/collect_seconds", "time/update_seconds", "time/eval_seconds")
OF_THE_MACHINE = (*CLOCK, "env/restarts")  # independent of learning; only `workers` has the last


class PressAt(TerminalKeys):
    """A user who presses keys after given updates."""

    def __init__(self, presses: dict[int, Request]) -> None:
        super().__init__(fd=None)
        self.presses = presses
        self.updates = 0

    def poll(self) -> set[Request]:
        self.updates += 1
        return {self.presses[self.updates]} if self.updates in self.presses else set()


STEPS = 64  # env steps of an update of `train_short`


def train_in_short(
    reference: str, runs_dir: Path, updates: int = 6, requests: TerminalKeys | None = None, **changes: Any
) -> api.Run:
    common = {
        "env.n_envs": 4,
        "env.backend": "sync",
        "algo.n_steps": STEPS // 4,
        "algo.batch_size": "all",
        "algo.n_epochs": 2,
        "budget.env_steps": updates * STEPS,
        "eval.every": 2 * STEPS,
        "eval.episodes": 5,
        "stop.eval_return": None,
    }
    if changes.get("algo__name", "ppo") != "ppo":  # one step per update: nothing to set
        del common["algo.batch_size"], common["algo.n_epochs"]
    overrides = common | {key.replace("__", "."): value for key, value in changes.items()}
    return api.train(reference, overrides=overrides, runs_dir=runs_dir, requests=requests)


@pytest.fixture
def envs_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """`endless_envs:…` can be named, here and in processes that are started."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", here, prepend=os.pathsep)


@pytest.fixture(scope="session")
def train() -> Callable[..., api.Run]:
    """`train(reference, runs_dir, updates=6, requests=None, eval__every=…)`: updates of 64 env steps."""
    return train_in_short


@pytest.fixture(scope="session")
def press() -> Callable[..., TerminalKeys]:
    """`press({3: Request.STOP})`: that key after the third update from here."""
    return PressAt


@pytest.fixture(scope="session")
def stop_after() -> Callable[[int], TerminalKeys]:
    """Requests that stop the run after this many updates."""
    return lambda updates: PressAt({updates: Request.STOP})


def rows_of(run: api.Run) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in OF_THE_MACHINE} for row in run.metrics()]


def end_of(run: api.Run) -> dict[str, Any]:
    """All that a run's last checkpoint holds, without what depends on the machine."""
    checkpoint = list_checkpoints(run.folder)[-1]
    policy, state, sidecar = load_checkpoint(checkpoint)
    del state["counters"]["seconds"]
    metrics = {key: value for key, value in sidecar.metrics.items() if key not in OF_THE_MACHINE}
    return {"policy": policy, "state": state, "score": sidecar.score, "metrics": metrics}


def difference(a: Any, b: Any, path: str = "") -> str | None:
    """Where two nested structures first differ in any bit, or None."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return None if same else f"{path}: {a!r} is not {b!r}"
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"{path}: keys {sorted(a)} are not {sorted(b)}"
        return next((found for key in a if (found := difference(a[key], b[key], f"{path}/{key}"))), None)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} items are not {len(b)}"
        pairs = enumerate(zip(a, b, strict=True))
        return next((found for i, (x, y) in pairs if (found := difference(x, y, f"{path}/{i}"))), None)
    return None if type(a) is type(b) and a == b else f"{path}: {a!r} is not {b!r}"


@pytest.fixture(scope="session")
def assert_same_run() -> Callable[[api.Run, api.Run], None]:
    """Two runs ended with the same weights, optimiser, envs, random state and rows, bit for bit."""

    def check(one: api.Run, other: api.Run) -> None:
        assert difference(end_of(one), end_of(other)) is None
        assert difference(rows_of(one), rows_of(other)) is None

    return check


@pytest.fixture(scope="session")
def end_state() -> Callable[[api.Run], dict[str, Any]]:
    return end_of


@pytest.fixture(scope="session")
def first_difference() -> Callable[[Any, Any], str | None]:
    return difference
