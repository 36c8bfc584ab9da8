"""Advantages and returns of a rollout."""

from __future__ import annotations

import numpy as np


def gae(
    rewards: np.ndarray,
    values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    bootstrap: np.ndarray,
    gamma: float,
    lam: float,
) -> np.ndarray:
    """Generalised advantage estimation (Schulman et al., 2016, eq. 16), with two masks.

    rewards, terminated, truncated, bootstrap: [T, N]; values: [T+1, N], the last row of the
    observations after the rollout. An episode that terminated has no future. One that was cut off
    has one: `bootstrap` holds the value of its true last observation. In neither case may the
    trace run on into the next episode, whose first observation stands in the next row.
    """
    goes_on = (~(terminated | truncated)).astype(values.dtype)
    next_values = values[1:] * goes_on + bootstrap  # bootstrap is 0 except where truncated
    advantages = rewards + gamma * next_values - values[:-1]  # the deltas; then, from the end, the sums
    decay = (gamma * lam) * goes_on
    for t in range(len(rewards) - 2, -1, -1):
        advantages[t] += decay[t] * advantages[t + 1]
    return advantages
