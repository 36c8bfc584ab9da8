"""A run for consoles to show: its header, rows of metrics, an alert and an ending."""

from __future__ import annotations

import re

from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.sinks.console import RunHeader
from gymnast.metrics.sinks.live import LiveConsole
from gymnast.training.run.outcome import Outcome, Status

KL_HIGH = Alert("kl.high", "warning", "train/kl", "KL is 0.31, above 0.05", "algo.lr is 0.3: try 0.001")
HEADER = RunHeader(
    run_id="run-1",
    path="runs/run-1",
    name="CartPole-v1:ppo",
    env_id="CartPole-v1",
    algo="ppo",
    engine="numpy",
    backend="native",
    n_envs=8,
    parameters=9155,
    budget="500k env steps",
    budget_env_steps=500_000,
    solved_at=475.0,
    notices=("Taxi-v3 is called Taxi-v4 now",),
)


def ending(status: Status = "solved", reason: str = "", best_score: float | None = 500.0) -> Outcome:
    return Outcome(status, reason, 52_224, 1.25, best_score, best_score, status == "solved")


def row(steps: int, **more: float) -> dict[str, float | int | bool | None]:
    return {
        "time/env_steps": steps,
        "time/progress": steps / 500_000,
        "time/seconds": steps / 50_000,
        "time/fps": 50_000.0,
        "train/return/mean": 21.5,
        "train/return_plain/mean": 21.5,
        "train/kl": 0.01,
        "train/entropy": 0.6,
        **{key.replace("__", "/"): value for key, value in more.items()},
    }


def lines_of(live: LiveConsole) -> list[str]:
    """The frame as it would be drawn now, without colours."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in live._frame()]
