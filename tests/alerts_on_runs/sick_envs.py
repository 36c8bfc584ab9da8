"""An env with a disease of choice, for runs that must raise an alert. Worker-free and tiny."""

from __future__ import annotations

import os
import socket
import time
from functools import cache
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np


@cache
def _first_of_siblings() -> tuple[bool, socket.socket]:
    """Whether this process is the first child of its parent that asks; the name is free when it ends."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0gymnast-sick-{os.getppid()}")
    except OSError:
        return False, name
    return True, name


class Sick(gym.Env[np.ndarray, int]):
    """Healthy: the first number's sign says which action is rewarded; episodes end by chance."""

    DISEASES: ClassVar = (
        "none",
        "outside",
        "large",
        "identical",
        "in step",
        "no reward",
        "outlier",
        "rare reward",
        "turns",
        "alternate",
        "slows down",
        "slow actor",
        "crashes",
    )

    def __init__(self, disease: str = "none") -> None:
        assert disease in self.DISEASES
        self.disease = disease
        size = np.inf if disease == "large" else 1.0
        self.observation_space = gym.spaces.Box(-size, size, (3,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self.taken = self.steps = self.last = 0
        self._own = np.random.default_rng(0)  # of an env that ignores its seed

    @property
    def _random(self) -> np.random.Generator:
        return self._own if self.disease == "identical" else self.np_random

    def _obs(self) -> np.ndarray:
        obs = self._random.uniform(-1, 1, 3).astype(np.float32)
        if self.disease == "large":
            obs[2] = 0.5
        if self.disease == "alternate":
            obs[:] = 0.5
        self.right = int(obs[0] > 0)
        return obs * {"outside": 2.0, "large": 100.0}.get(self.disease, 1.0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if self.disease == "identical":
            self._own = np.random.default_rng(0)
        self.steps = 0
        return self._obs(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        self.steps += 1
        if self.disease == "crashes" and self.taken == 24:
            os._exit(3)
        reward = float(action == self.right)
        match self.disease:
            case "identical":
                reward = 1.0
            case "no reward":
                reward = 0.0
            case "outlier":
                reward = 500.0 if self._random.random() < 0.002 else 0.5 + 0.5 * reward
            case "rare reward":
                reward = float(self.taken % 20 == 0)
            case "turns":
                reward = reward if self.taken < 1400 else 1.0 - reward
            case "alternate":
                reward, self.last = float(action != self.last), int(action)
            case "slow actor":
                time.sleep(0.005 if _first_of_siblings()[0] else 0)
            case "slows down":
                time.sleep(0.005 if self.taken > 350 else 0)
        ended = bool(self._random.random() < 0.05)
        if self.disease in ("in step", "turns"):
            ended = self.steps >= 64
        return self._obs(), reward, ended, False, {}
