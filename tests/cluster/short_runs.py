"""Short runs on actors, and what of them must be the same as in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gymnast import api
from training.compare_runs import OF_THE_MACHINE, difference, end_of

STEPS = 16
# Each: reference, settings beside the common ones. Short time limits, so that episodes end either way.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "cartpole": ("CartPole-v1:ppo", {"env.max_episode_steps": 20}),
    "acrobot": (
        "Acrobot-v1:ppo",
        {"env.max_episode_steps": 13, "policy.normalize_obs": "running", "algo.target_kl": 0.01},
    ),
    "pendulum": (
        "Pendulum-v1:ppo",
        {
            "env.max_episode_steps": 20,
            "policy.normalize_obs": "running",
            "policy.state_dependent_std": True,
            "algo.normalize_reward": True,
        },
    ),
    "taxi-masked-frames": ("Taxi-v4:ppo-masked", {"env.max_episode_steps": 9, "policy.frame_stack": 3}),
    "parts-masked": (
        "action_envs:RightAction",
        {"env.kwargs": {"space": "dict", "masked": True}, "env.action_masks": True},
    ),
    "shaped-bonus": (
        "MountainCar-v0:ppo",
        {
            "env.max_episode_steps": 11,
            "env.wrappers": ["mountaincar-shaping"],
            "explore": {"name": "rnd"},
        },
    ),
    "pixels": ("MinAtar/Breakout-v1:ppo", {"env.max_episode_steps": 9}),
    "reinforce": ("CartPole-v1:reinforce", {"env.max_episode_steps": 20}),
}


def start(name: str, updates: int = 6, **changes: Any) -> dict[str, Any]:
    """Arguments of `api.train` for a case, in this process unless `cluster__on` says otherwise."""
    reference, own = CASES[name]
    common = {
        "env.n_envs": 5,
        "env.backend": "sync",
        "algo.n_steps": STEPS,
        "algo.batch_size": "all",
        "algo.n_epochs": 2,
        "budget.env_steps": updates * 5 * STEPS,
        "eval.every": 0,
        "stop.eval_return": None,
    }
    if "reinforce" in reference:
        del common["algo.batch_size"], common["algo.n_epochs"]
    overrides = common | own | {key.replace("__", "."): value for key, value in changes.items()}
    return {"reference": reference, "overrides": overrides}


def train(name: str, runs_dir: Path, requests: Any = None, updates: int = 6, **changes: Any) -> api.Run:
    return api.train(**start(name, updates, **changes), runs_dir=runs_dir, requests=requests)


def rows_of(run: api.Run) -> list[dict[str, Any]]:
    """Metrics that must not depend on where a run was collected. A sum of shares has other last digits."""
    return [
        {
            key: value
            for key, value in row.items()
            if key not in OF_THE_MACHINE
            and not key.startswith(("time/actor", "train/policy_lag", "alert/", "env/reward_part/"))
        }
        for row in run.metrics()
    ]


def assert_same(one: api.Run, other: api.Run) -> None:
    """The same weights, optimiser, envs, random state and rows, bit for bit."""
    ends = end_of(one), end_of(other)
    for end in ends:
        end["metrics"] = {}
        end["state"].pop("monitor")
    assert difference(*ends) is None
    assert difference(rows_of(one), rows_of(other)) is None
