"""Wrappers for CartPole."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from gymnast.envs.wrappers.base import EnvWrapper, checked_number, with_part
from gymnast.errors import GymnastError


class CartPoleCentring(EnvWrapper):
    """Charge for leaving the middle, so that the cart does not drift off while the pole stands.

    weight: taken from the reward at the edge of the track, and in proportion nearer to the middle.
    """

    training_only = True
    reward_parts = ("cartpole-centring",)

    def __init__(self, env: gym.Env[Any, Any], weight: float = 0.5) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, CartPoleEnv):
            raise GymnastError(f"wrapper 'cartpole-centring' is for CartPole, not {env.unwrapped}")
        self.weight = checked_number("cartpole-centring", "weight", weight)
        self._edge = env.unwrapped.x_threshold

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        charge = -self.weight * abs(float(obs[0])) / self._edge
        info = with_part(info, "cartpole-centring", charge)
        return obs, float(reward) + charge, terminated, truncated, info
