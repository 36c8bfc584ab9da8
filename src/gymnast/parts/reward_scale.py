"""Reward normalisation: rewards divided by the running std of the discounted return.

Dividing by the return's std keeps value targets near size 1 in every env, without moving
rewards relative to each other. Only learning sees it; scores are of the env's own rewards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gymnast.metrics.spec import MetricSpec
from gymnast.parts.part import Part, PartContext

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Hyper
    from gymnast.envs.contract import Envs
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions

METRICS = (
    MetricSpec("env/reward_scale", "Divisor of reward normalisation; in a mix, the mean.", "", 4, low=0),
    MetricSpec(
        "task/*/reward_scale", "Divisor of reward normalisation for this task.", "", 4, low=0, priority=3
    ),
)


class RewardScale:
    """Running moments of the discounted return, over all envs."""

    def __init__(self, n_envs: int, clip: float | None) -> None:
        self.clip = clip
        self.returns = np.zeros(n_envs)
        self.count, self.mean, self.var = 1e-4, 0.0, 1.0

    def apply(self, rollout: Rollout, gamma: float) -> float:
        """Take the rollout into the moments, then scale its rewards in place; returns the divisor."""
        return self.scale(rollout.rewards, rollout.terminated | rollout.truncated, gamma)

    def scale(self, rewards: np.ndarray, done: np.ndarray, gamma: float) -> float:
        """As `apply`, for rewards [T, N] and where episodes ended [T, N]."""
        seen = np.empty(rewards.shape)
        for t, reward in enumerate(rewards):
            self.returns = self.returns * gamma + reward
            seen[t] = self.returns
            self.returns[done[t]] = 0.0
        n, total = seen.size, self.count + seen.size
        delta = float(seen.mean()) - self.mean
        spread = self.var * self.count + float(seen.var()) * n + delta**2 * self.count * n / total
        self.mean, self.var, self.count = self.mean + delta * n / total, spread / total, total
        divisor = float(np.sqrt(self.var + 1e-8))
        rewards *= np.float32(1.0 / divisor)
        if self.clip is not None:
            np.clip(rewards, -self.clip, self.clip, out=rewards)
        return divisor

    def metrics(self) -> dict[str, float]:
        """Metrics beyond the divisor that `apply` returns."""
        return {}

    def state(self) -> dict[str, Any]:
        return {"returns": self.returns.copy(), "count": self.count, "mean": self.mean, "var": self.var}

    def load_state(self, state: dict[str, Any]) -> None:
        if len(state["returns"]) == len(self.returns):  # a resume may change n_envs
            self.returns[:] = state["returns"]
        self.count, self.mean, self.var = state["count"], state["mean"], state["var"]


class TaskRewardScale:
    """A scale for each task of a mix: rewards of different games differ in size."""

    def __init__(self, names: Sequence[str], task_of: np.ndarray, clip: float | None) -> None:
        self.names = tuple(names)
        self._rows = [np.flatnonzero(task_of == task) for task in range(len(names))]
        self._scales = [RewardScale(len(rows), clip) for rows in self._rows]
        self._divisors = [1.0] * len(names)

    def apply(self, rollout: Rollout, gamma: float) -> float:
        """As for one scale, task by task; returns the mean of the divisors."""
        done = rollout.terminated | rollout.truncated
        for task, (rows, scale) in enumerate(zip(self._rows, self._scales, strict=True)):
            own = rollout.rewards[:, rows]
            self._divisors[task] = scale.scale(own, done[:, rows], gamma)
            rollout.rewards[:, rows] = own
        return float(np.mean(self._divisors))

    def metrics(self) -> dict[str, float]:
        return {
            f"task/{name}/reward_scale": value for name, value in zip(self.names, self._divisors, strict=True)
        }

    def state(self) -> dict[str, Any]:
        return {name: scale.state() for name, scale in zip(self.names, self._scales, strict=True)}

    def load_state(self, state: dict[str, Any]) -> None:
        for name, scale in zip(self.names, self._scales, strict=True):
            if name in state:  # a resume may bring other tasks
                scale.load_state(state[name])


def scale_in(metrics: Mapping[str, Any], task: str | None) -> float:
    """What rewards (of this task, if there are several) were divided by in the update of these metrics."""
    own = None if task is None else metrics.get(f"task/{task}/reward_scale")
    return float(own or metrics.get("env/reward_scale") or 1.0)


def build_reward_scale(envs: Envs, clip: float | None) -> RewardScale | TaskRewardScale:
    from gymnast.envs.mix.mixed import task_rows

    mixed = task_rows(envs)
    return RewardScale(envs.n_envs, clip) if mixed is None else TaskRewardScale(*mixed, clip)


class NormalizedRewards(Part):
    """`algo.normalize_reward`: rewards are divided in place, after the rollout's metrics were taken."""

    name = "reward_scale"

    def __init__(self, scale: RewardScale | TaskRewardScale) -> None:
        self.scale = scale
        self._divisor = 1.0

    @classmethod
    def build(cls, context: PartContext) -> NormalizedRewards | None:
        algo = context.config.algo
        return cls(build_reward_scale(context.envs, algo.clip_reward)) if algo.normalize_reward else None

    def rewards(self, rollout: Rollout, steps: Transitions | None, hp: Hyper) -> None:
        self._divisor = self.scale.apply(rollout, hp.gamma)

    def metrics(self) -> dict[str, float]:
        return {"env/reward_scale": self._divisor} | self.scale.metrics()

    def state(self) -> dict[str, Any]:
        return self.scale.state()

    def load_state(self, state: dict[str, Any]) -> None:
        self.scale.load_state(state)
