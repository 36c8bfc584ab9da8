"""Envs whose episodes never end by themselves, fast or slow."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np


class Endless(gym.Env[np.ndarray, int]):
    """A reward of 1 per step, forever.

    sleep: seconds that a step takes, after the first `slow_after` of this copy.
    starts: a file to which the first observation of every episode is appended.
    """

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, sleep: float = 0.0, slow_after: int = 0, starts: str | None = None) -> None:
        self.sleep, self.slow_after, self.starts = sleep, slow_after, starts
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        obs = self.np_random.uniform(-1, 1, 3).astype(np.float32)
        if self.starts is not None:
            with open(self.starts, "a") as file:  # noqa: PTH123
                file.write(f"{obs[0]:.9f}\n")
        return obs, {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.sleep and self.steps > self.slow_after:
            time.sleep(self.sleep)
        return self.np_random.uniform(-1, 1, 3).astype(np.float32), 1.0, False, False, {}

    def get_state(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def set_state(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]
