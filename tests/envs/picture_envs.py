"""Envs that show pictures and numbers which are known at every step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class Slides(gym.Env):
    """Shows random pictures of a given shape; pays and tells what is listed, and then 0."""

    def __init__(
        self, shape: tuple[int, ...] = (20, 30, 3), rewards: tuple[float, ...] = (), part: bool = False
    ) -> None:
        picture = gym.spaces.Box(0, 255, tuple(shape), np.uint8)
        self.observation_space: gym.Space = picture
        if part:
            numbers = gym.spaces.Box(-1, 1, (2,), np.float32)
            self.observation_space = gym.spaces.Dict({"screen": picture, "numbers": numbers})
        self.action_space = gym.spaces.Discrete(5)
        self.picture, self.rewards, self.part = picture, tuple(rewards), part
        self.at = 0
        self.actions: list[int] = []

    def _obs(self) -> Any:
        seen = self.np_random.integers(0, 256, self.picture.shape, np.uint8)
        self.shown = seen
        return {"screen": seen, "numbers": np.full(2, 0.5, np.float32)} if self.part else seen

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.at, self.actions = 0, []
        return self._obs(), {"x": 0.0}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        self.actions.append(int(action))
        reward = self.rewards[self.at] if self.at < len(self.rewards) else 0.0
        self.at += 1
        info = {"x": float(sum(self.rewards[: self.at])), "reward_parts": {"bonus": 0.25 * reward}}
        return self._obs(), reward, self.at >= 40, False, info

    def get_state(self) -> dict[str, Any]:
        return {"at": self.at}

    def set_state(self, state: dict[str, Any]) -> None:
        self.at = int(state["at"])
