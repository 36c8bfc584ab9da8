"""An env that fails after a while."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class Failing(gym.Env[np.ndarray, int]):
    """Raises in its hundredth step."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.steps > 100:
            raise ValueError("track lost")
        return np.zeros(2, np.float32), 1.0, self.steps % 5 == 0, False, {}
