"""Bounds of metrics that follow from an env: its actions, its time limit, and what a step of it earns."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym

from gymnast.envs.spec import EnvSpec
from gymnast.spaces.action_form import ActionForm

_RETURNS = ("train/return_plain/mean", "eval/return/mean", "eval/return/min", "eval/return/max", "eval/best")


def bounds_of(spec: EnvSpec, action_space: gym.Space[Any]) -> dict[str, tuple[float, float]]:
    """The least and the largest value of each metric that the env bounds; the others are left out."""
    found: dict[str, tuple[float, float]] = {}
    sizes = ActionForm(action_space).sizes
    if all(sizes):  # real numbers have an entropy without bounds
        found["train/entropy"] = (0.0, sum(math.log(n) for n in sizes))
    if spec.max_episode_steps is not None:
        steps = float(spec.max_episode_steps)
        found |= dict.fromkeys(("train/length/mean", "eval/length/mean"), (0.0, steps))
        low, high = spec.reward_range
        if low == high:  # an episode's length alone decides its return
            found |= dict.fromkeys(_RETURNS, (min(0.0, low * steps), max(0.0, low * steps)))
    return found
