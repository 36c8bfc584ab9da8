"""Settings of runs that take seconds and save often."""

from __future__ import annotations

from typing import Any

SETTINGS: dict[str, Any] = {
    "env.backend": "sync",
    "env.n_envs": 8,
    "policy.hidden": [16],
    "algo.n_steps": 32,
    "algo.batch_size": "all",
    "algo.n_epochs": 2,
    "eval.every": 0,
    "stop.eval_return": None,
    "checkpoint.every": 2000,
    "checkpoint.keep": 3,
}
