"""The presets of small games learn, well beyond chance."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymnast import api


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("reference", "package", "budget", "least"),
    [
        # reaches the goal through key and door in nearly every episode; without the key the return is 0
        ("MiniGrid-DoorKey-5x5-v0:ppo", "minigrid", "200k", 0.95),
        # an untrained policy breaks about one brick before the ball is lost
        ("MinAtar/Breakout-v1:ppo", "minatar", "500k", 5.0),
    ],
)
def test_preset_learns(reference: str, package: str, budget: str, least: float, tmp_path: Path) -> None:
    pytest.importorskip(package)
    overrides = ["seed=1", "env.backend=sync", f"budget.env_steps={budget}", "eval.every=50k"]
    run = api.train(reference, overrides=overrides, runs_dir=tmp_path)
    scores = [row["eval/return/mean"] for row in run.metrics() if "eval/return/mean" in row]
    assert max(scores) >= least
