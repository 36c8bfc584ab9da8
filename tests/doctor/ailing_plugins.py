"""Wrappers and a hook of a user's own, most broken in one way; they need no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from gymnast.api import Adjust, Command, Hook, Report


class Thousandfold(gym.RewardWrapper[Any, Any]):
    def reward(self, reward: Any) -> float:
        return 1000.0 * float(reward)


class TurnedAround(gym.RewardWrapper[Any, Any]):
    def reward(self, reward: Any) -> float:
        return -float(reward)


class Halved(gym.RewardWrapper[Any, Any]):
    def reward(self, reward: Any) -> float:
        return 0.5 * float(reward)


class Blank(gym.ObservationWrapper[Any, Any, Any]):
    def observation(self, observation: Any) -> Any:
        return 0 * observation


class HidesTheEnd(gym.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        obs, reward, _, _, info = self.env.step(action)
        return obs, reward, False, False, info


class OneAction(gym.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> Any:
        return 0


class NeedsTheRealEnv(gym.RewardWrapper[Any, Any]):
    def reward(self, reward: Any) -> float:
        return float(reward) + self.env.unwrapped.place  # type: ignore[attr-defined]


class StopsLearning(Hook):
    """Sets the learning rate to 0 after the first update."""

    def after_update(self, report: Report) -> Sequence[Command]:
        return [Adjust("mine", "lr", "a mistake", value=0.0)]
