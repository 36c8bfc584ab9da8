"""Envs that end their process, hang, or print, after some steps."""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium as gym
import numpy as np


class Breaking(gym.Env[np.ndarray, np.int64]):
    """One number to look at; `how` says what its `after`-th step does."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, how: str = "exit", after: int = 300, once: str = "") -> None:
        self.how, self.after, self.once, self.steps = how, after, once, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.how == "slow":
            time.sleep(0.12)
        if self.steps == self.after and not (self.once and os.path.exists(self.once)):  # noqa: PTH110
            if self.once:
                open(self.once, "w").close()  # noqa: PTH123
            print(f"the last words of step {self.steps}", flush=True)
            if self.how == "exit":
                os._exit(7)
            if self.how == "segfault":
                import ctypes

                ctypes.string_at(0)
            if self.how == "hang":
                time.sleep(600)
            if self.how == "raise":
                raise ValueError("out of order")
        reward = 1e300 if self.how == "huge" and self.steps > self.after else float(action)
        return self._look(), reward, bool(self.np_random.random() < 0.1), False, {}

    def _look(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)
