"""Actors that die, hang or raise, and settings that cannot be: on processes of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError, RunFailed
from gymnast.rollout import remote_crew

ENV = "actor_envs:Troubled"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def _processes_may_start_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine; else another actor takes over meanwhile, and there is one less."""
    monkeypatch.setattr(remote_crew, "_PATIENCE_SECONDS", 120.0)


def run_on_actors(tmp_path: Path, *, updates: int = 6, reference: str = ENV, **changes: Any) -> api.Run:
    settings = {
        "env.n_envs": 6,
        "env.kwargs": {"claim": str(tmp_path / "claim")} if reference == ENV else {},
        "env.restarts.backoff": 0.01,
        "algo.n_steps": 16,
        "algo.batch_size": "all",
        "algo.n_epochs": 1,
        "budget.env_steps": updates * 6 * 16,
        "eval.every": 0,
        "cluster.on": "local",
        "cluster.actors": 3,
    }
    overrides = settings | {key.replace("__", "."): value for key, value in changes.items()}
    return api.train(reference, overrides=overrides, runs_dir=tmp_path / "runs")


@pytest.mark.parametrize("lag", [0, 1])
def test_a_killed_actor_is_replaced_and_training_continues(lag: int, tmp_path: Path) -> None:
    run = run_on_actors(tmp_path, cluster__lag=lag)
    assert run.outcome.status == "finished"
    rows = run.metrics()
    assert [row["time/env_steps"] for row in rows] == [96 * (update + 1) for update in range(6)]
    assert rows[-1]["env/restarts"] == 1
    assert rows[-1]["time/actors/connected"] == 3
    # 6 envs × 96 steps of 10-step episodes: those of the lost rows (2 envs, 3 rollouts at most) did not end.
    assert 40 <= rows[-1]["time/episodes"] <= 56
    log = run.folder.log_path.read_text()
    assert "are lost: the actor process was killed" in log
    assert "another actor takes over (1 of 10 restarts)" in log


def test_a_hanging_actor_is_replaced(tmp_path: Path) -> None:
    claim = {"claim": str(tmp_path / "claim"), "how": "hang"}
    run = run_on_actors(tmp_path, env__kwargs=claim, cluster__timeout=6, updates=4)
    assert run.outcome.status == "finished"
    assert "gave no answer for 6 s" in run.folder.log_path.read_text()


def test_a_loss_beyond_the_budget_ends_the_run(tmp_path: Path) -> None:
    claim = {"claim": str(tmp_path / "claim"), "often": True}
    with pytest.raises(RunFailed, match=r"is lost: .*all 2 restarts are spent"):
        run_on_actors(tmp_path, env__kwargs=claim, env__restarts__budget=2)


def test_an_env_that_raises_ends_the_run_with_its_own_number(tmp_path: Path) -> None:
    claim = {"claim": str(tmp_path / "claim"), "how": "raise", "often": True}
    with pytest.raises(RunFailed, match=r"env [024] .*the motor broke"):
        run_on_actors(tmp_path, env__kwargs=claim)


def test_no_process_is_left(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    run_on_actors(tmp_path, updates=2)
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy__memory": "gru"}, r"policy.memory gru: a policy with a memory cannot act in actors"),
        ({"cluster__lag": 2}, r"cluster.lag: a lag of 2 updates needs algo.advantage: vtrace"),
        ({"cluster__address": "1.2.3.4:6379"}, r"address is of a Ray cluster, and on is local"),
        ({"env__backend": "native"}, r"env.backend native cannot step 'actor_envs:Troubled' in an actor"),
        ({"algo__advantage": "vtrace", "explore__name": "rnd"}, r"algo.advantage: vtrace has one stream"),
    ],
)
def test_what_actors_cannot_do_is_refused_and_leaves_nothing(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(GymnastError, match=message) as caught:
        run_on_actors(tmp_path, **changes)
    assert caught.value.exit_code == 2
    assert not list((tmp_path / "runs").glob("*/run.json"))
    assert "\n" not in str(caught.value)
