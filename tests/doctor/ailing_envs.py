"""Envs with one disease each, and one without."""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import Any

import gymnasium as gym
import numpy as np

_calls = itertools.count()


class Healthy(gym.Env[Any, Any]):
    """Walk left or right; the episode ends after 20 steps, with what the position is worth."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space: gym.Space[Any] = gym.spaces.Box(-30.0, 30.0, (2,), np.float32)
        self.action_space: gym.Space[Any] = gym.spaces.Discrete(2)
        self.render_mode = render_mode
        self.place, self.steps = 0.0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.place, self.steps = float(self.np_random.uniform(-1, 1)), 0
        return self.observe(), {}

    def observe(self) -> Any:
        return np.array([self.place, self.steps], np.float32)

    def reward(self) -> Any:
        return self.place

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.place += (1.0 if action else -1.0) * float(self.np_random.uniform(0.5, 1.0))
        return self.observe(), self.reward(), self.over(), False, {}

    def over(self) -> Any:
        return self.steps >= 20


class GlobalRandom(Healthy):
    def observe(self) -> Any:
        return np.array([self.place, np.random.uniform(-1, 1)], np.float32)  # noqa: NPY002


class DependsOnTheProcess(Healthy):
    def observe(self) -> Any:
        return np.array([self.place, next(_calls) % 29], np.float32)


class IgnoresTheSeed(Healthy):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=5)


class KeepsItsPlace(Healthy):
    """Reset forgets to put it back."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        before, fresh = self.place, not self.steps
        observed = super().reset(seed=seed)
        if not fresh:
            self.place = before
            return self.observe(), {}
        return observed


class OutOfBounds(Healthy):
    def observe(self) -> Any:
        return np.array([self.place, 90.0 if self.steps == 7 else 0.0], np.float32)


class SlightlyOutOfBounds(Healthy):
    def observe(self) -> Any:
        return np.array([self.place, 31.0 if self.steps == 7 else 0.0], np.float32)


class WrongDtype(Healthy):
    def observe(self) -> Any:
        return super().observe().astype(np.float64)


class WrongShape(Healthy):
    def observe(self) -> Any:
        return np.zeros(3, np.float32)


class NaNObservation(Healthy):
    def observe(self) -> Any:
        return np.array([self.place, np.nan if self.steps == 5 else 0.0], np.float32)


class NaNReward(Healthy):
    def reward(self) -> Any:
        return float("nan") if self.steps == 3 else 0.0


class NeverEnds(Healthy):
    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def over(self) -> bool:
        return False


class ResetWithoutInfo(Healthy):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0]


class FourValues(Healthy):
    def step(self, action: Any) -> Any:
        obs, reward, terminated, _, info = super().step(action)
        return obs, reward, terminated, info


class InfoIsNone(Healthy):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], None)


class FlagIsANumber(Healthy):
    def over(self) -> Any:
        return int(self.steps >= 20)


class RaisesInStep(Healthy):
    def step(self, action: Any) -> Any:
        if self.steps == 12:
            raise ZeroDivisionError("nothing to divide by")
        return super().step(action)


class RaisesInTheFirstStep(Healthy):
    def step(self, action: Any) -> Any:
        raise ZeroDivisionError("nothing to divide by")


class RaisesInReset(Healthy):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        raise KeyError("map")


class CannotBeBuilt(Healthy):
    def __init__(self, render_mode: str | None = None) -> None:
        raise OSError("no such level")


class Crashes(Healthy):
    """As code in C does."""

    def step(self, action: Any) -> Any:
        if self.steps == 5:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step(action)


class Hangs(Healthy):
    def step(self, action: Any) -> Any:
        if self.steps == 5:
            time.sleep(600)
        return super().step(action)


class Exits(Healthy):
    def step(self, action: Any) -> Any:
        raise SystemExit(3)


class IgnoresActions(Healthy):
    def step(self, action: Any) -> Any:
        return super().step(1)


class HugeRewards(Healthy):
    def reward(self) -> Any:
        return 1e5 * self.place


class NoRewards(Healthy):
    def reward(self) -> Any:
        return 0.0


class Chatty(Healthy):
    def step(self, action: Any) -> Any:
        print("chatter")
        return super().step(action)
