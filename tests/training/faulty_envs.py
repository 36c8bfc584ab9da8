"""An env that fails on purpose, while a file asks for it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np


class Quit(BaseException):
    """As libraries raise to cancel what they run."""


class Faulty(gym.Env[np.ndarray, int]):
    """Fails in the way that the file `switch` names, in its `at`-th step, if `seed` is its own (or unset).

    Without the file it is healthy: 10 steps per episode, a reward of 1 each.
    """

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, switch: str = "off", at: int = 1, seed: int | None = None) -> None:
        self.switch, self.at, self.wanted_seed = Path(switch), at, seed
        self.steps = self.in_episode = 0
        self.own_seed: int | None = None
        if self._fault() == "exit-construct":
            sys.exit(7)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.own_seed = seed
        self.in_episode = 0
        if self._fault() == "reset":
            raise RuntimeError("cannot start")
        if self._fault() == "exit-reset":
            sys.exit(7)
        return np.zeros(3, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.in_episode += 1
        obs, reward = self.np_random.uniform(-1, 1, 3).astype(np.float32), 1.0
        fault = self._fault() if self.steps == self.at else None
        if fault == "raise":
            raise RuntimeError("the motor broke")
        if fault == "exit":
            sys.exit(7)
        if fault == "interrupt":
            raise KeyboardInterrupt("by the env itself")
        if fault == "quit":
            raise Quit("cancelled")
        if fault == "nan-reward":
            reward = float("nan")
        if fault == "inf-obs":
            obs[1] = np.inf
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "huge-reward":
            reward = 1e38
        return obs, reward, self.in_episode == 10, False, {}

    def close(self) -> None:
        if self._fault() == "exit-close":
            sys.exit(7)

    def get_state(self) -> dict[str, Any]:
        return {"steps": self.steps, "in_episode": self.in_episode, "own_seed": self.own_seed}

    def set_state(self, state: dict[str, Any]) -> None:
        self.steps, self.in_episode, self.own_seed = state["steps"], state["in_episode"], state["own_seed"]

    def _fault(self) -> str | None:
        if self.wanted_seed is not None and self.own_seed != self.wanted_seed:
            return None
        return self.switch.read_text() if self.switch.exists() else None


class Speaking(gym.Env):
    """Text observations, which no network supports."""

    observation_space = gym.spaces.Text(5)
    action_space = gym.spaces.Discrete(2)
