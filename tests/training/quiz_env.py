"""A task whose right answer is in its observation, for mixes whose tasks are learned fast."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class Quiz(gym.Env):
    """Shows a number; the action of that number plus `shift` earns 1; five questions per episode."""

    def __init__(self, n_actions: int = 2, shift: int = 0, seen: int = 4) -> None:
        self.observation_space = gym.spaces.Box(0, 1, (seen,), np.float32)
        self.action_space = gym.spaces.Discrete(n_actions)
        self.shift = shift

    def _ask(self) -> np.ndarray:
        self.asked = int(self.np_random.integers(self.action_space.n))
        return np.eye(self.observation_space.shape[0], dtype=np.float32)[self.asked]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.at = 0
        return self._ask(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert self.action_space.contains(action), action
        right = (self.asked + self.shift) % self.action_space.n == action
        self.at += 1
        return self._ask(), float(right), self.at == 5, False, {}

    def get_state(self) -> dict[str, Any]:
        return {"at": self.at, "asked": self.asked}

    def set_state(self, state: dict[str, Any]) -> None:
        self.at, self.asked = state["at"], state["asked"]
