"""Envs for actors: one that ends its process once, one that waits without using the CPU."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np


class Walk(gym.Env[np.ndarray, int]):
    """Ten steps per episode; its state can be saved."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 3).astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        obs = self.np_random.uniform(-1, 1, 3).astype(np.float32)
        return obs, float(action), self.steps >= 10, False, {}

    def get_state(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def set_state(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]


class Troubled(Walk):
    """In its `at`-th step it kills or hangs its process, or raises: once, in the first process that makes the
    file `claim`, or (`often`) each time."""

    def __init__(self, claim: str, at: int = 40, how: str = "kill", often: bool = False) -> None:
        super().__init__()
        self.claim, self.at, self.how, self.often = Path(claim), at, how, often
        self.all_steps = 0

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.all_steps += 1
        if self.all_steps == self.at and self._claimed():
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.how == "hang":
                time.sleep(600)
            raise RuntimeError("the motor broke")
        return super().step(action)

    def _claimed(self) -> bool:
        if self.often:
            return True
        try:
            self.claim.open("x").close()
        except FileExistsError:
            return False
        return True


class Waiting(Walk):
    """A step takes `seconds` in which the CPU is free, as with a game server or a robot."""

    def __init__(self, seconds: float = 0.005) -> None:
        super().__init__()
        self.seconds = seconds

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        time.sleep(self.seconds)
        return super().step(action)
