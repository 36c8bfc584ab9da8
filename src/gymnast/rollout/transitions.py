"""Transitions (x, a, r, x′, terminated) with the true next observation of every row.

Where an episode ends, the next row of a rollout shows the first observation of the next episode. What
learns from pairs of observations needs the last one of the old episode instead, terminated or truncated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gymnast.rollout.buffer import Rollout


@dataclass(frozen=True, slots=True)
class Transitions:
    """[T, N, …] of one rollout; observations as the envs gave them, rewards before any scaling."""

    obs: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_obs: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    @property
    def done(self) -> np.ndarray:
        """[T, N]: the episode ended with this step."""
        return self.terminated | self.truncated


def transitions_of(rollout: Rollout) -> Transitions:
    """The transitions of a rollout whose collector keeps last observations."""
    seen = rollout.obs if rollout.pixels is None else rollout.pixels.cpu().numpy()
    next_obs = seen[1:].copy()
    for step, envs, last in rollout.final_obs:
        next_obs[step, envs] = last
    return Transitions(
        seen[:-1], rollout.actions, rollout.rewards.copy(), next_obs, rollout.terminated, rollout.truncated
    )
