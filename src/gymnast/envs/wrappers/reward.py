"""Wrappers that change the reward of any env. They are for training: evaluation scores the env itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import EnvWrapper, checked_count, checked_number, with_part
from gymnast.errors import GymnastError


class ScaleReward(EnvWrapper):
    """Multiply the reward.

    scale: the factor.
    """

    training_only = True
    reward_parts = ("reward-scale",)

    def __init__(self, env: gym.Env[Any, Any], scale: float) -> None:
        super().__init__(env)
        self.scale = checked_number("reward-scale", "scale", scale)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        scaled = self.scale * float(reward)
        return obs, scaled, terminated, truncated, with_part(info, "reward-scale", scaled - float(reward))


class RewardClip(EnvWrapper):
    """Cut the reward of each step to a range, so that great and small prizes weigh alike (Mnih et al., 2015).

    low, high: the range.
    """

    training_only = True
    reward_parts = ("reward-clip",)

    def __init__(self, env: gym.Env[Any, Any], low: float = -1.0, high: float = 1.0) -> None:
        super().__init__(env)
        self.low = checked_number("reward-clip", "low", low)
        self.high = checked_number("reward-clip", "high", high)
        if self.low >= self.high:
            raise GymnastError(f"wrapper 'reward-clip': low ({low:g}) must lie below high ({high:g})")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        clipped = min(max(float(reward), self.low), self.high)
        return obs, clipped, terminated, truncated, with_part(info, "reward-clip", clipped - float(reward))


class LongEpisodePenalty(EnvWrapper):
    """Charge for time, so that an agent finishes what it could put off (a lander that hovers).

    cost: taken from the reward of every step.
    after: no growth up to this step of the episode.
    growth: added to the cost with each step beyond `after`; hard to learn for who cannot see the time.
    """

    training_only = True
    reward_parts = ("long-episode-penalty",)

    def __init__(
        self, env: gym.Env[Any, Any], cost: float = 0.0, after: int = 0, growth: float = 0.0
    ) -> None:
        super().__init__(env)
        name = "long-episode-penalty"
        self.cost = checked_number(name, "cost", cost, least=0.0)
        self.after = checked_count(name, "after", after, least=0)
        self.growth = checked_number(name, "growth", growth, least=0.0)
        if self.cost == 0.0 and self.growth == 0.0:
            raise GymnastError(
                f"wrapper '{name}': give a cost or a growth above 0, otherwise it does nothing"
            )
        self._elapsed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._elapsed = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._elapsed += 1
        penalty = -self.cost - self.growth * max(0, self._elapsed - self.after)
        info = with_part(info, "long-episode-penalty", penalty)
        return obs, float(reward) + penalty, terminated, truncated, info

    def get_state(self) -> dict[str, Any]:
        return {"elapsed": self._elapsed}

    def set_state(self, state: dict[str, Any]) -> None:
        self._elapsed = int(state["elapsed"])


class CountBonus(EnvWrapper):
    """Reward what is rarely seen: weight / √(visits of the state's cell).

    The bonus of MBIE-EB (Strehl & Littman, 2008).
    Each env keeps its own counts.

    weight: the bonus of a first visit.
    bins: cells along each dimension of a Box observation.
    low, high: the range that is cut into cells, a number or one per dimension; the space's own if unset.
    """

    training_only = True
    reward_parts = ("count-bonus",)

    def __init__(
        self,
        env: gym.Env[Any, Any],
        weight: float = 0.1,
        bins: int = 10,
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(env)
        self.weight = checked_number("count-bonus", "weight", weight)
        self.bins = checked_count("count-bonus", "bins", bins)
        self._counts: Counter[int] = Counter()
        space = env.observation_space
        if isinstance(space, gym.spaces.Discrete):
            return
        if not isinstance(space, gym.spaces.Box):
            raise GymnastError(f"wrapper 'count-bonus' counts Box and Discrete observations, not {space}")
        self._low = self._bound("low", space.low, low)
        self._width = self._bound("high", space.high, high) - self._low
        if not (self._width > 0).all():
            raise GymnastError("wrapper 'count-bonus': high must lie above low")
        # A cell's number in base `bins`; Python ints, since bins ** dimensions may exceed 64 bits.
        self._places = [self.bins**place for place in range(self._low.size)]

    def _bound(self, argument: str, own: np.ndarray, given: Any) -> np.ndarray:
        try:
            bound = np.broadcast_to(np.asarray(own if given is None else given, dtype=np.float64), own.shape)
        except ValueError as error:
            raise GymnastError(
                f"wrapper 'count-bonus': {argument} must be a number or one per dimension, not {given!r}"
            ) from error
        if not np.isfinite(bound).all():
            raise GymnastError(
                f"wrapper 'count-bonus': the observation has no bound {argument} in some dimension;"
                f" give {argument}"
            )
        return bound.reshape(-1)

    def _cell(self, obs: Any) -> int:
        if isinstance(self.env.observation_space, gym.spaces.Discrete):
            return int(obs)
        position = (np.asarray(obs, dtype=np.float64).reshape(-1) - self._low) / self._width
        cells = np.clip((position * self.bins).astype(np.int64), 0, self.bins - 1).tolist()
        return sum(cell * place for cell, place in zip(cells, self._places, strict=True))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        cell = self._cell(obs)
        self._counts[cell] += 1
        bonus = self.weight / math.sqrt(self._counts[cell])
        return obs, float(reward) + bonus, terminated, truncated, with_part(info, "count-bonus", bonus)

    def get_state(self) -> dict[str, Any]:
        return {"counts": [[cell, count] for cell, count in self._counts.items()]}

    def set_state(self, state: dict[str, Any]) -> None:
        self._counts = Counter({int(cell): int(count) for cell, count in state["counts"]})
