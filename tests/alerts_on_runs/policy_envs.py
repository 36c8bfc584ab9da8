"""Tiny envs that give a policy, a critic or a network one disease each."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

STEPS = 10


class Countdown(gym.Env[Any, Any]):
    """Ten steps; the observation is how many are left, repeated. Its only secret is what it pays.

    pays: `first`: 1 for action 0; `none`: 0; `coin`: 1 or -1 with the last step, whatever was done
            and seen;
        `flip`: 1 or -1 by what is seen, the other way round every 16 steps
    blind: the observation is always the same
    jump: rewards are multiplied by this from the given step of this copy on
    """

    action_space = gym.spaces.Discrete(3)
    observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)

    def __init__(
        self, pays: str = "first", blind: bool = False, jump: float = 1.0, at: int = 0, size: float = 1.0
    ) -> None:
        self.pays, self.blind, self.jump, self.at, self.size = pays, blind, jump, at, size
        self.t = self.total = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        self.total += 1
        done = self.t == STEPS
        reward = self._reward(int(action), done)
        return self._seen(), reward * (self.jump if self.total > self.at else 1.0), done, False, {}

    def _reward(self, action: int, done: bool) -> float:
        match self.pays:
            case "first":
                return float(action == 0)
            case "coin":
                return float(self.np_random.choice((-1.0, 1.0))) if done else 0.0
            case "flip":
                return (1.0 if 2 * self.t <= STEPS else -1.0) * (-1) ** (self.total // 16)
        return 0.0

    def _seen(self) -> np.ndarray:
        left = 0.0 if self.blind else self.size * (1 - 2 * self.t / STEPS)
        seen = np.full(4, left, np.float32)
        if self.pays == "coin":
            seen[-1] = self.np_random.normal()
        return seen


class Push(gym.Env[Any, Any]):
    """Pays how far the action goes to the right; beyond the bound there is nothing to gain."""

    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self) -> None:
        self.t = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return np.zeros(1, np.float32), float(action[0]), self.t == STEPS, False, {}
