"""A wrapper that lets a small network tell small differences apart."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import ObservationChange, checked_count, is_vector
from gymnast.errors import GymnastError


class Fourier(ObservationChange):
    """Show sines and cosines of each number beside it, for small networks that have to be precise.

    A network learns what changes slowly with its inputs first, and what turns on a hundredth of their range
    hardly at all. Of a number x from -1 to 1 it then also sees the sine and cosine of pi x, 2 pi x, 4 pi x
    and so on. Numbers whose bounds are known are brought to -1 to 1 for that, others should be about there.

    k: how many waves; each is half as long as the one before.
    """

    def __init__(self, env: gym.Env[Any, Any], k: int = 3) -> None:
        super().__init__(env)
        space = env.observation_space
        if not is_vector(space):
            raise GymnastError(f"wrapper 'fourier' is for a vector of numbers, not {space}")
        k = checked_count("fourier", "k", k)
        # Bounds as wide as the type mean none.
        bounded = (np.abs(space.low) < 1e6) & (np.abs(space.high) < 1e6) & (space.high > space.low)
        low, high = np.where(bounded, space.low, -1.0), np.where(bounded, space.high, 1.0)
        turns = np.pi * 2.0 ** np.arange(k)[:, None]  # of each wave, over a number's whole range
        self._by = (turns * 2.0 / (high - low)).astype(space.dtype)  # [k, D]
        self._from = (turns * (high + low) / (high - low)).astype(space.dtype)
        ones = np.ones(2 * k * space.shape[0], space.dtype)
        self.observation_space = gym.spaces.Box(
            np.concatenate([space.low, -ones]), np.concatenate([space.high, ones]), dtype=space.dtype
        )
        self._k = k

    def observation(self, observation: np.ndarray) -> np.ndarray:
        angles = observation * self._by - self._from
        return np.concatenate((observation, np.sin(angles).ravel(), np.cos(angles).ravel()))

    def names(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        waves = [f"{wave} {2**i}" for wave in ("sin", "cos") for i in range(self._k)]
        return (*names, *(f"{name} {wave}" for wave in waves for name in names))
