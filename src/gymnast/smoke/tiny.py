"""A preset made small: the same game, network and algorithm, for two updates of a few steps."""

from __future__ import annotations

from typing import Any

from gymnast.config.schema import Config

N_ENVS, N_STEPS = 2, 16
# Shorter than a rollout, so that REINFORCE sees complete episodes, which it needs.
EPISODE_STEPS = 12


def tiny_overrides(config: Config) -> tuple[dict[str, Any], int]:
    """Overrides that leave what makes the preset alone, and the env steps of one update under them."""
    n_envs = max(N_ENVS, len(config.env.tasks), config.env.groups)
    rollout = n_envs * N_STEPS
    changes: dict[str, Any] = {
        "env.n_envs": n_envs,
        "env.max_episode_steps": EPISODE_STEPS,
        "algo.n_steps": N_STEPS,
        "budget.env_steps": 2 * rollout,
        "budget.vec_steps": None,
        "budget.wall_time": None,
        "eval.every": 0,  # scoring is a stage of its own
        "stop.eval_return": None,
        "stop.train_return": None,
        "checkpoint.every": 0,
        "checkpoint.seconds": 0,
        "checkpoint.rollout_table": False,  # so is recording
        "video.record": "never",
    }
    fields = type(config.algo).model_fields
    if "n_epochs" in fields:
        changes["algo.n_epochs"] = 1
    if "batch_size" in fields:  # a memory learns from whole sequences; `all` always fits
        changes["algo.batch_size"] = "all" if config.policy.memory != "none" else 0.5
    if config.algo.sequence_length is not None:
        changes["algo.sequence_length"] = min(config.algo.sequence_length, N_STEPS // 2)
    return changes, rollout
