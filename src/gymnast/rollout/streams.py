"""A stream of rewards beside the env's own, with a value head and a discount of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gymnast.algorithms.returns import gae

if TYPE_CHECKING:
    from gymnast.rollout.buffer import Rollout


@dataclass(frozen=True, slots=True)
class Stream:
    """Rewards of one rollout. A stream that is not episodic ignores where episodes end: an exploration bonus
    of the next episode counts as well as one of this episode (Burda et al., 2019, section 2.3)."""

    name: str  # of its value head
    rewards: np.ndarray  # [T, N]
    values: np.ndarray  # [T+1, N] of its head
    bootstrap: np.ndarray  # [T, N] of its head, where truncated; only used if episodic
    gamma: float
    weight: float  # of its advantages in the sum
    episodic: bool = False

    def advantages(self, rollout: Rollout, gae_lambda: float) -> np.ndarray:
        """Generalised advantages [T, N] of this stream alone."""
        if self.episodic:
            ends, truncated, bootstrap = rollout.terminated, rollout.truncated, self.bootstrap
        else:
            ends = truncated = np.zeros_like(rollout.terminated)
            bootstrap = np.zeros_like(self.rewards)
        return gae(self.rewards, self.values, ends, truncated, bootstrap, self.gamma, gae_lambda)
