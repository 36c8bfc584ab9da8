"""A real run with the disease for every rule about environments and about the run as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SICK_ENV = "alerts_on_runs.sick_envs:Sick"
_SMALL = {
    "env.n_envs": 8,
    "env.backend": "sync",
    "policy.hidden": [16],
    "algo.n_steps": 64,
    "algo.batch_size": "all",
    "algo.n_epochs": 3,
    "algo.lr": 0.003,
    "eval.every": 0,
    "checkpoint.every": 0,
}


_ON_ACTORS = {"cluster.on": "local", "cluster.actors": 1}


@dataclass(frozen=True)
class SickRun:
    """What to train: a disease of the small env, or another env, with settings."""

    disease: str = "none"
    settings: dict[str, Any] = field(default_factory=dict)
    updates: int = 40
    env: str = SICK_ENV

    def overrides(self) -> dict[str, Any]:
        own = {"env.kwargs": {"disease": self.disease}} if self.env == SICK_ENV else {}
        settings = {**_SMALL, **own, **self.settings}
        steps = settings["env.n_envs"] * settings["algo.n_steps"] * self.updates
        return settings | {"budget.env_steps": steps}


RUNS = {
    "outside": SickRun("outside", {"policy.normalize_obs": "none"}, updates=5),
    "large": SickRun("large", {"policy.normalize_obs": "none"}, updates=20),
    "cut off": SickRun("none", {"policy.normalize_obs": "running", "policy.clip_obs": 0.5}, 24),
    "identical": SickRun("identical", updates=10),
    "in step": SickRun("in step"),
    "no reward": SickRun("no reward"),
    "outlier": SickRun("outlier", {"env.spec.reward_range": [0, 1]}, updates=30),
    "shaping": SickRun("none", {"env.wrappers": [{"name": "count-bonus", "weight": 50.0}]}, 25),
    "rare reward": SickRun("rare reward", {"algo.gamma": 0.5}),
    "short limit": SickRun("in step", {"env.max_episode_steps": 16, "algo.lr": 1e-8}),
    "turns": SickRun("turns", {"algo.lr": 0.01, "algo.n_epochs": 8, "env.max_episode_steps": 20}),
    "alternate": SickRun("alternate", {"eval.every": 5120, "eval.episodes": 10, "algo.lr": 0.0003}),
    "crashes": SickRun(
        "crashes",
        {
            "env.n_envs": 2,
            "env.backend": "remote",
            "env.actors.count": 1,
            "env.restarts.backoff": 0,
            "algo.n_steps": 16,
        },
        updates=6,
    ),
    "old data": SickRun(
        "none",
        {
            **_ON_ACTORS,
            "cluster.lag": 3,
            "algo.advantage": "vtrace",
            "algo.n_epochs": 12,
        },
        updates=12,
    ),
    "slow actor": SickRun("slow actor", {**_ON_ACTORS, "cluster.actors": 2, "algo.n_steps": 16}, updates=24),
    "slow learner": SickRun("none", {**_ON_ACTORS, "cluster.lag": 1, "algo.n_epochs": 400}, updates=44),
    "slows down": SickRun("slows down", {"env.n_envs": 2, "algo.n_steps": 16}, updates=32),
}

# No training here has a slow tracker: the rows of one.
RECORDED = {
    "dropped rows": [
        {"time/env_steps": 1024 * n, "time/updates": n, "time/tracker_dropped": 7} for n in range(1, 5)
    ]
}

# Rule → the run that has it, and the severity that it must reach.
SICK: dict[str, tuple[str, str]] = {
    "obs.bounds": ("outside", "critical"),
    "obs.constant": ("large", "info"),
    "obs.scale": ("large", "warning"),
    "obs.saturated": ("cut off", "critical"),
    "envs.identical": ("identical", "critical"),
    "envs.insync": ("in step", "warning"),
    "reward.none": ("no reward", "critical"),
    "reward.outlier": ("outlier", "info"),
    "reward.bounds": ("outlier", "info"),
    "shaping.dominates": ("shaping", "info"),
    "horizon.short": ("rare reward", "warning"),
    "episodes.truncated": ("short limit", "info"),
    "episodes.fixed": ("in step", "warning"),
    "score.plateau": ("short limit", "info"),
    "score.collapse": ("turns", "critical"),
    "eval.gap": ("alternate", "warning"),
    "actors.flapping": ("crashes", "warning"),
    "cluster.lag": ("old data", "warning"),
    "cluster.slow_actor": ("slow actor", "warning"),
    "cluster.learner": ("slow learner", "info"),
    "fps.drop": ("slows down", "info"),
    "tracker.dropped": ("dropped rows", "info"),
}
