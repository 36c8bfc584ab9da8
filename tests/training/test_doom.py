"""Training on VizDoom: what is recorded, that a stopped run resumes exactly, and that Basic is learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.metrics.csv_file import read_metrics
from gymnast.training.requests import Requests

pytest.importorskip("vizdoom")
pytest.importorskip("torch")

SHORT: dict[str, Any] = {
    "env.n_envs": 2,
    "env.backend": "sync",
    "algo.n_steps": 32,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
    "policy.image.features": 16,
    "budget.env_steps": 5 * 64,
    "eval.every": 4 * 64,
    "eval.episodes": 2,
    "stop.eval_return": None,
}


@pytest.mark.slow
def test_stopped_run_resumes_in_the_same_episodes(
    tmp_path: Path,
    stop_after: Callable[[int], Requests],
    assert_same_run: Callable[[api.Run, api.Run], None],
) -> None:
    start: dict[str, Any] = {"reference": "VizDoom-DefendTheCenter-v0:ppo-conv", "overrides": SHORT}
    whole = api.train(**start, runs_dir=tmp_path)
    stopped = api.train(**start, runs_dir=tmp_path, requests=stop_after(2))
    assert stopped.outcome.status == "interrupted"
    parts = api.resume(stopped.id, runs_dir=tmp_path)
    assert_same_run(whole, parts)
    rows = read_metrics(whole.folder.metrics_path)
    ammo = [row["env/reward_part/ammo"] for row in rows]
    assert min(ammo) < 0  # rounds were fired
    assert rows[-1]["env/episode/kills"] >= 0
    assert rows[-1]["env/episode/health"] == 0  # an episode that ends before the timeout ends by death
    assert any(row.get("eval/episode/kills") is not None for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 4])
def test_training_with_and_without_stacked_frames(frames: int, tmp_path: Path) -> None:
    overrides = SHORT | {"policy.frame_stack": frames, "eval.every": 0, "env.vizdoom.variables": []}
    run = api.train(
        "VizDoom-HealthGathering-v0:ppo-conv", overrides=overrides, max_env_steps=128, runs_dir=tmp_path
    )
    assert run.outcome.env_steps == 128
    assert api.evaluate(run, episodes=1).mean_return > 100  # even standing still survives some 300 tics


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_basic_is_learned(tmp_path: Path) -> None:
    run = api.train("VizDoom-Basic-v0:ppo", overrides={"stop.eval_return": 70, "seed": 3}, runs_dir=tmp_path)
    assert api.evaluate(run, episodes=50, seed=123).mean_return > 60  # random play is worth about -130
