"""Trials on a real Ray, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast.errors import GymnastError, MissingExtra
from gymnast.runs.store import RunFolder
from gymnast.trials.ray_executor import RayExecutor
from gymnast.trials.trial import Trial, TrialState

SMALL: dict[str, Any] = {
    "budget.env_steps": 4096,
    "eval.every": 2048,
    "eval.episodes": 2,
    "checkpoint.rollout_table": False,
}
PRESET = "CartPole-v1:ppo"
Wait = Callable[..., dict[str, TrialState]]


@pytest.fixture
def ray(runs: Path) -> Iterator[RayExecutor]:
    pytest.importorskip("ray")
    with RayExecutor(2, runs) as executor:
        yield executor


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("ray")
def test_trials_legs_crashes_and_stops_on_ray(ray: RayExecutor, runs: Path, until_ended: Wait) -> None:
    settings = {
        **SMALL, "env.n_envs": 2, "env.backend": "sync", "algo.n_steps": 64, "algo.batch_size": 64,
        "env.kwargs": {"how": "exit", "after": 400}, "eval.every": 0,
    }  # fmt: skip
    ray.submit(Trial("leg", PRESET, {**SMALL, "seed": 1}, stop_at=2048))
    ray.submit(Trial("whole", PRESET, {**SMALL, "seed": 1}))
    ray.submit(Trial("broken", "trials.breaking_envs:Breaking", settings))
    with pytest.raises(GymnastError, match="already"):
        ray.submit(Trial("whole", PRESET, SMALL))
    ended = until_ended(ray, "leg", "whole", "broken")
    assert (ended["leg"].status, ended["leg"].env_steps) == ("paused", 2048)
    assert ended["whole"].status == "finished"
    assert ended["broken"].status == "lost"
    assert "the last words of step 400" in ended["broken"].message
    long = {**SMALL, "budget.env_steps": 9_000_000, "stop.eval_return": None, "eval.every": 0}
    ray.submit(Trial("leg", PRESET, {**SMALL, "seed": 1}))
    ray.submit(Trial("long", PRESET, long))
    assert until_ended(ray, "leg")["leg"].status == "finished"
    while not RunFolder(runs / "long").metrics_path.exists():
        ray.poll(0.2)
    ray.stop("long")
    assert until_ended(ray, "long")["long"].status == "stopped"
    assert not list(runs.glob(".stop-*"))


def test_without_ray_the_extra_is_named(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"gymnast\[ray\]"):
        RayExecutor(1, runs)
    assert not runs.exists()
