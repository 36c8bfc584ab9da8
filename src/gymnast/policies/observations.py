"""From raw observations to the network's input, the same for both engines.

Statistics move between updates only, never inside one: the policy that collected a rollout and
the one that is updated on it see the same inputs, so the first ratio of PPO is 1. They are
part of the policy and travel in its checkpoint; evaluation only reads them.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.policies.layout import PolicyLayout


class ObservationEncoder:
    """Flattens, normalises or one-hot encodes observations."""

    def __init__(self, layout: PolicyLayout) -> None:
        config, space = layout.config, layout.observation_space
        self.size = layout.input_size
        self.discrete = isinstance(space, gym.spaces.Discrete)
        self.start = int(space.start) if isinstance(space, gym.spaces.Discrete) else 0
        self.embedded = layout.n_embeddings > 0
        self.mode = "none" if self.discrete else config.normalize_obs
        self.clip = np.float32(config.clip_obs)
        self.mean = np.zeros(self.size, np.float64)
        self.var = np.ones(self.size, np.float64)
        self.count = 0.0
        if self.mode == "bounds":
            assert isinstance(space, gym.spaces.Box)
            if not space.is_bounded():
                raise GymnastError(
                    f"policy.normalize_obs: bounds needs finite bounds, but {space} has none; use 'running'"
                )
            low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
            self.mean, self.var = (low + high) / 2, ((high - low) / 2) ** 2
        self._prepare()

    def encode(self, obs: np.ndarray) -> np.ndarray:
        """Network input [B, D] float32 (or indices [B] for an embedding) of observations [B, …]."""
        if self.discrete:
            index = obs.reshape(-1) - self.start
            if self.embedded:
                return index
            encoded = np.zeros((len(index), self.size), np.float32)
            encoded[np.arange(len(index)), index] = 1.0
            return encoded
        flat = obs.reshape(len(obs), self.size)
        if self.mode == "none":
            return flat if flat.dtype == np.float32 else flat.astype(np.float32)
        scaled = (flat - self._mean32) * self._scale32
        return np.clip(scaled, -self.clip, self.clip, out=scaled)

    def observe(self, obs: np.ndarray) -> None:
        """Move the running statistics by a batch of raw observations."""
        if self.mode != "running":
            return
        flat = obs.reshape(-1, self.size).astype(np.float64)
        n, mean, var = len(flat), flat.mean(0), flat.var(0)
        total, delta = self.count + n, mean - self.mean
        if self.count == 0:
            self.mean, self.var = mean, var
        else:  # Chan et al.'s way of joining two sets of moments
            self.mean = self.mean + delta * (n / total)
            self.var = (self.var * self.count + var * n + delta**2 * (self.count * n / total)) / total
        self.count = total
        self._prepare()

    def buffers(self) -> dict[str, np.ndarray]:
        """Statistics, to be stored with the weights."""
        if self.mode == "none":
            return {}
        return {
            "obs_norm.mean": self.mean,
            "obs_norm.var": self.var,
            "obs_norm.count": np.array([self.count]),
        }

    def load_buffers(self, arrays: dict[str, np.ndarray]) -> None:
        """Take statistics back from a checkpoint."""
        if self.mode == "none":
            return
        self.mean = np.array(arrays["obs_norm.mean"], np.float64)
        self.var = np.array(arrays["obs_norm.var"], np.float64)
        self.count = float(arrays["obs_norm.count"][0])
        self._prepare()

    def _prepare(self) -> None:
        self._mean32 = self.mean.astype(np.float32)
        self._scale32 = (1.0 / np.sqrt(self.var + 1e-8)).astype(np.float32)
