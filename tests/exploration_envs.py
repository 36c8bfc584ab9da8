"""A task that random actions do not solve."""

from __future__ import annotations

from typing import Any

import gymnasium as gym


class Lock(gym.Env):
    """A combination lock: `length` right moves in a row pay 1, a wrong one leads back to the start."""

    observation_space = gym.spaces.Discrete(32)
    action_space = gym.spaces.Discrete(3)

    def __init__(self, length: int = 20) -> None:
        self.length, self.place, self.t = length, 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.t = 0
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.t += 1
        self.place = self.place + 1 if action == self.place % 3 else 0
        opened = self.place == self.length
        return self.place, float(opened), opened, self.t >= 2 * self.length, {}
