"""Wrappers that change when an episode ends."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from gymnast.envs.wrappers.base import EnvWrapper, checked_count, checked_number, info_number
from gymnast.errors import GymnastError


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


class NoProgress(EnvWrapper):
    """Truncate an episode when nothing has been gained for a number of steps.

    steps: how long without a gain.
    value: the entry of `info` that should grow, such as x_pos; the sum of rewards if unset.
    least: a gain is more than this above the best so far in the episode.
    """

    def __init__(
        self, env: gym.Env[Any, Any], steps: int, value: str | None = None, least: float = 0.0
    ) -> None:
        super().__init__(env)
        self.steps = checked_count("no-progress", "steps", steps)
        if value is not None and not isinstance(value, str):
            raise GymnastError(f"wrapper 'no-progress': value must be the name of an entry, not {value!r}")
        self.value = value
        self.least = checked_number("no-progress", "least", least, least=0.0)
        self._return, self._best, self._since = 0.0, float("-inf"), 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._return, self._since = 0.0, 0
        # Some envs name their values at the first step only: then that is where the count begins.
        known = self.value is None or self.value in info
        self._best = self._reached(info) if known else float("-inf")
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._return += float(reward)
        reached = self._reached(info)
        if reached > self._best + self.least:
            self._best, self._since = reached, 0
        else:
            self._since += 1
        return obs, reward, terminated, truncated or self._since >= self.steps, info

    def _reached(self, info: dict[str, Any]) -> float:
        return self._return if self.value is None else info_number("no-progress", self.value, info)

    def get_state(self) -> dict[str, Any]:
        return {"return": self._return, "best": self._best, "since": self._since}

    def set_state(self, state: dict[str, Any]) -> None:
        self._return, self._since = float(state["return"]), int(state["since"])
        self._best = float(state["best"])
