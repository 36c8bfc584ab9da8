"""Short real runs, stopped after a chosen update, and what is left of them to compare."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.training.requests import Request
from gymnast.training.run.keys import TerminalKeys
from training.compare_runs import difference, end_of, rows_of


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
