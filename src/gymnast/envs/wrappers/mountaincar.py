"""Wrappers for MountainCar, discrete and continuous."""

from __future__ import annotations

import math
from typing import Any, Literal

import gymnasium as gym
from gymnasium.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv

from gymnast.envs.wrappers.base import EnvWrapper, checked_number, with_part
from gymnast.errors import GymnastError, did_you_mean

_KINDS = ("energy", "height")
_GRAVITY = 0.0025  # of both envs: the hill is sin(3x), and gravity pulls with 0.0025 · cos(3x)


class MountainCarShaping(EnvWrapper):
    """Reward progress by a potential: weight · (gamma · Φ(s') − Φ(s)), Φ = 0 at the goal.

    Being a difference of potentials it leaves the best policy as it is (Ng, Harada & Russell, 1999).
    Φ is the car's height or its energy, which counts speed as the height it could climb to, measured
    down from the goal, so that the bottom of the valley has about −2.

    kind: `energy` or `height`.
    weight: scale of the potential.
    gamma: the discount of the algorithm.
    """

    training_only = True
    reward_parts = ("mountaincar-shaping",)

    def __init__(
        self,
        env: gym.Env[Any, Any],
        kind: Literal["energy", "height"] = "energy",
        weight: float = 10.0,
        gamma: float = 0.99,
    ) -> None:
        super().__init__(env)
        name = "mountaincar-shaping"
        if not isinstance(env.unwrapped, MountainCarEnv | Continuous_MountainCarEnv):
            raise GymnastError(f"wrapper '{name}' is for MountainCar, not {env.unwrapped}")
        if kind not in _KINDS:
            hint = did_you_mean(str(kind), _KINDS)
            raise GymnastError(f"wrapper '{name}': kind is energy or height, not {kind!r}{hint}")
        self.kind = kind
        self.weight = checked_number(name, "weight", weight)
        self.gamma = checked_number(name, "gamma", gamma, 0.0, 1.0)
        self._goal = math.sin(3 * env.unwrapped.goal_position)
        self._before = 0.0

    def _potential(self, obs: Any) -> float:
        position, velocity = float(obs[0]), float(obs[1])
        kinetic = 1.5 * velocity * velocity / _GRAVITY if self.kind == "energy" else 0.0  # in units of height
        return math.sin(3 * position) + kinetic - self._goal

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._before = self._potential(obs)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated else self._potential(obs)
        shaping = self.weight * (self.gamma * after - self._before)
        self._before = after
        info = with_part(info, "mountaincar-shaping", shaping)
        return obs, float(reward) + shaping, terminated, truncated, info

    def get_state(self) -> dict[str, Any]:
        return {"before": self._before}

    def set_state(self, state: dict[str, Any]) -> None:
        self._before = float(state["before"])
