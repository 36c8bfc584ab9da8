"""A policy to play with, from a run's config and a checkpoint's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy

if TYPE_CHECKING:
    from gymnast.config.schema import Config


def load_policy(
    config: Config,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    arrays: dict[str, np.ndarray] | None,
) -> Policy:
    """The policy of a checkpoint; without arrays, as it was before training."""
    # A run that was trained on a GPU can be evaluated and played where there is none.
    on_gpu = config.device.startswith("cuda")
    policy = build_policy(
        config.policy,
        "torch" if on_gpu else config.engine,
        observation_space,
        action_space,
        config.seed if arrays is None else None,
        "auto" if on_gpu else config.device,
        config.precision,
        ("value",) if arrays is None else stored_value_heads(arrays),
    )
    if arrays is not None:
        policy.load_arrays(arrays)
    return policy


def stored_value_heads(arrays: dict[str, np.ndarray]) -> tuple[str, ...]:
    """As many names as the stored policy has value heads; the first is that of the env's own reward."""
    bias = arrays.get("value_head.bias")
    if bias is None or bias.ndim != 1:
        raise GymnastError("the checkpoint has no value head: its arrays are not those of a policy")
    return ("value", *(f"value_{row}" for row in range(1, len(bias))))
