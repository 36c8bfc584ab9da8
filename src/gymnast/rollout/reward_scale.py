"""Reward normalisation: rewards divided by the running std of the discounted return.

Dividing by the return's std keeps value targets near size 1 whatever the env pays, without moving
rewards relative to each other. Only learning sees it; scores are of the env's own rewards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.rollout.buffer import Rollout


class RewardScale:
    """Running moments of the discounted return, over all envs."""

    def __init__(self, n_envs: int, clip: float | None) -> None:
        self.clip = clip
        self.returns = np.zeros(n_envs)
        self.count, self.mean, self.var = 1e-4, 0.0, 1.0

    def apply(self, rollout: Rollout, gamma: float) -> float:
        """Take the rollout into the moments, then scale its rewards in place; what they were divided by."""
        seen = np.empty(rollout.rewards.shape)
        done = rollout.terminated | rollout.truncated
        for t, rewards in enumerate(rollout.rewards):
            self.returns = self.returns * gamma + rewards
            seen[t] = self.returns
            self.returns[done[t]] = 0.0
        n, total = seen.size, self.count + seen.size
        delta = float(seen.mean()) - self.mean
        spread = self.var * self.count + float(seen.var()) * n + delta**2 * self.count * n / total
        self.mean, self.var, self.count = self.mean + delta * n / total, spread / total, total
        divisor = float(np.sqrt(self.var + 1e-8))
        rollout.rewards *= np.float32(1.0 / divisor)
        if self.clip is not None:
            np.clip(rollout.rewards, -self.clip, self.clip, out=rollout.rewards)
        return divisor

    def state(self) -> dict[str, Any]:
        return {"returns": self.returns.copy(), "count": self.count, "mean": self.mean, "var": self.var}

    def load_state(self, state: dict[str, Any]) -> None:
        if len(state["returns"]) == len(self.returns):  # a resume may change n_envs
            self.returns[:] = state["returns"]
        self.count, self.mean, self.var = state["count"], state["mean"], state["var"]
