"""Wrappers that change when an episode ends."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from gymnast.envs.wrappers.base import EnvWrapper, checked_count


class TimeLimit(EnvWrapper):
    """Truncate an episode after a number of steps, beside whatever limit the env has.

    steps: the most steps of an episode.
    """

    def __init__(self, env: gym.Env[Any, Any], steps: int) -> None:
        super().__init__(env)
        self.steps = checked_count("time-limit", "steps", steps)
        self._elapsed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._elapsed = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._elapsed += 1
        return obs, reward, terminated, truncated or self._elapsed >= self.steps, info

    def get_state(self) -> dict[str, Any]:
        return {"elapsed": self._elapsed}

    def set_state(self, state: dict[str, Any]) -> None:
        self._elapsed = int(state["elapsed"])
