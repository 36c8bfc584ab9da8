"""What keeps a run going on a rented machine, without Modal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gymnast.config.load import load_config
from gymnast.remote.keeper import Keeper
from gymnast.remote.spec import TrainSpec, spec_of
from gymnast.remote.state import read_state
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.store import RunFolder


@pytest.fixture
def spec() -> TrainSpec:
    settings = {"env.n_envs": 8, "env.backend": "sync", "algo.n_steps": 32, "eval.every": 0}
    resolved = load_config("CartPole-v1:ppo", {**settings, "budget.env_steps": 40_000_000})
    return spec_of(
        resolved, "kept-1", cores=1.0, memory=1024, gpu=None, dollars_per_hour=0.1, max_seconds=None,
        attempt_seconds=0.5,
    )  # fmt: skip


def test_an_order_that_was_passed_on_is_not_trained_twice(spec: TrainSpec, tmp_path: Path) -> None:
    """Its machine is lost after another call took over: the same order arrives again, to do nothing."""
    spawned: list[str] = []

    def respawn() -> str:
        spawned.append("fc-2")
        return "fc-2"

    keeper = Keeper(spec, tmp_path, "fc-1", lambda: None, respawn)
    state = keeper.keep()
    assert (state.state, state.call, state.passed_on_by, state.attempts) == ("again", "fc-2", "fc-1", 1)
    assert list_checkpoints(RunFolder(tmp_path / "kept-1"))
    before = read_state(tmp_path, "kept-1")
    assert keeper.keep() == before
    assert read_state(tmp_path, "kept-1") == before
    assert spawned == ["fc-2"]

    limited = replace(spec, max_seconds=state.seconds + 0.3)
    later = Keeper(limited, tmp_path, "fc-2", lambda: None, respawn).keep()
    assert (later.state, later.call, later.attempts) == ("limit", "fc-2", 2)
    assert spawned == ["fc-2"]


def test_cancelled_before_it_trains(spec: TrainSpec, tmp_path: Path) -> None:
    class Cancelled(BaseException):
        pass

    commits: list[str] = []

    def commit() -> None:
        commits.append(read_state(tmp_path, "kept-1").state)
        if len(commits) == 1:
            raise Cancelled

    with pytest.raises(Cancelled):
        Keeper(spec, tmp_path, "fc-1", commit, lambda: "fc-2").keep()
    assert commits == ["running", "stopped"]


def test_a_volume_that_fails_is_not_a_stop_on_request(spec: TrainSpec, tmp_path: Path) -> None:
    commits: list[str] = []

    def commit() -> None:
        commits.append(read_state(tmp_path, "kept-1").state)
        if len(commits) == 1:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        Keeper(spec, tmp_path, "fc-1", commit, lambda: "fc-2").keep()
    assert commits == ["running", "interrupted"]
    assert "no space left" in read_state(tmp_path, "kept-1").reason
