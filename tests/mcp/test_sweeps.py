"""A sweep through the tools: started, watched, stopped, resumed, and refused where it must be."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.mcp.serving import Serving
from mcp_clients import Failed, call

pytestmark = pytest.mark.timeout(300)  # a busy machine

QUICK = {"env.n_envs": 8, "algo.n_steps": 32, "eval.every": 512, "eval.episodes": 2, "stop.eval_return": None}


@pytest.fixture
def own(tmp_path: Path) -> Serving:
    return Serving(runs_dir=tmp_path / "runs", most_running=2)


def watched(serving: Serving, sweep: str, seconds: float = 300) -> dict[str, Any]:
    """What a sweep is once it is not under way any more."""
    until = time.monotonic() + seconds
    now = call(serving, "watch_sweep", sweep=sweep, wait_seconds=5)
    while now["state"] in ("starting", "running") and time.monotonic() < until:
        now = call(serving, "watch_sweep", sweep=now["sweep"], wait_seconds=5)
    return now


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_sweep_is_stopped_resumed_and_ends_with_a_verdict(own: Serving) -> None:
    order = {"reference": "CartPole-v1:ppo", "overrides": QUICK, "trials": 3, "max_env_steps": 1024}
    started = call(own, "start_sweep", **order)
    assert started["command"].startswith("gymnast sweep CartPole-v1:ppo env.n_envs=8")
    now = call(own, "watch_sweep", sweep=started["sweep"], wait_seconds=45)
    while now["state"] == "starting":
        now = call(own, "watch_sweep", sweep=started["sweep"], wait_seconds=45)
    sweep = now["sweep"]
    assert api.find_sweep(sweep, runs_dir=own.runs_dir).state.plan.workers <= 2
    stopped = call(own, "stop_training", run=started["sweep"])
    assert stopped["id"] == sweep
    assert stopped["state"] in ("interrupted", "stopping")  # a busy machine saves longer than one call waits
    assert watched(own, sweep)["state"] == "interrupted"
    assert "start_sweep(resume=" in call(own, "watch_sweep", sweep=sweep)["next"]
    call(own, "start_sweep", resume=sweep)
    until = time.monotonic() + 60
    while not api.find_sweep(sweep, runs_dir=own.runs_dir).driven and time.monotonic() < until:
        time.sleep(0.1)
    done = watched(own, sweep)
    assert (done["state"], done["stage"], done["trials"]["made"]) == ("finished", "done", 3), done
    assert done["best"]["runs"][0] in [entry.id for entry in api.list_runs(runs_dir=own.runs_dir)]
    assert "test seeds" in done["verdict"] or "preset's own values won" in done["verdict"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of the two"),
        ({"reference": "CartPole-v1:ppo", "resume": "abcdef"}, "one of the two"),
        ({"resume": "abcdef"}, "there are no sweeps"),
        ({"reference": "CartPole-v1:ppo", "overrides": {"env.wrappers": ["a:B"]}}, "is refused here"),
        ({"reference": "../sweep.yaml"}, "is a path"),
        ({"reference": "CartPole-v1:ppo", "trials": 1}, "trials"),
        ({"reference": "CartPole-v1:ppo", "objective": "zebra"}, "zebra"),
        ({"reference": "CartPole-v1:ppo", "overrides": {"algo.lrr": 1}}, "unknown key"),
    ],
)
def test_what_is_refused(own: Serving, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(Failed, match=message):
        started = call(own, "start_sweep", **arguments)
        call(own, "watch_sweep", sweep=started["sweep"], wait_seconds=45)  # a slow machine answers later
    assert api.list_sweeps(runs_dir=own.runs_dir) == []


def test_what_is_not_a_sweep(trained: Any) -> None:
    with pytest.raises(Failed, match=r"there are no sweeps|no sweep 'zzz'"):
        call(trained.serving, "watch_sweep", sweep="zzz")
    job = call(trained.serving, "evaluate", run=trained.good, episodes=1, wait_seconds=45)
    with pytest.raises(Failed, match="is not a sweep: watch_job follows it"):
        call(trained.serving, "watch_sweep", sweep=job["job"])
