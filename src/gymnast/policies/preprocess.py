"""From raw observations to the network's input, the same for both engines.

Statistics change between updates only, never inside one: the policy that collected a rollout and
the one that is updated on it see the same inputs, so the first ratio of PPO is 1. The first ones are taken
from the run's first rollout before it is learned from: otherwise the first update would be made on inputs of
another scale than all that follow. They are part of the policy and travel in its checkpoint; evaluation only
reads them.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.policies.inputs import Input
from gymnast.policies.layout import PolicyLayout


class Preprocessor:
    """Flattens, normalises or one-hot encodes one leaf of an observation; pixels stay as they are."""

    def __init__(self, layout: PolicyLayout, part: Input | None = None) -> None:
        part = layout.inputs[0] if part is None else part
        config, leaf, space = layout.config, part.leaf, part.leaf.space
        self.shape = leaf.shape
        self.size = part.width if part.kind != "index" else config.embedding_size
        self.image = part.kind == "image"
        self.discrete = isinstance(space, gym.spaces.Discrete)
        self.start = int(space.start) if isinstance(space, gym.spaces.Discrete) else 0
        self.embedded = part.kind == "index"
        # Of several choices: where each one's columns begin, less what it counts from.
        self.offsets = _offsets(space) if isinstance(space, gym.spaces.MultiDiscrete) else None
        self.scale = np.float32(1.0 / part.scale) if part.scale != 1.0 else None
        self.name = f"obs_norm.{leaf.name}" if leaf.name else "obs_norm"
        is_numbers = isinstance(space, gym.spaces.Box) and not self.image
        self.mode = config.normalize_obs if is_numbers else "none"
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

    def apply(self, obs: np.ndarray) -> np.ndarray:
        """Network input [B, D] float32 (or indices [B] for an embedding) of observations [B, …]."""
        if self.discrete:
            index = obs.reshape(-1) - self.start
            if self.embedded:
                return index
            one_hot = np.zeros((len(index), self.size), np.float32)
            one_hot[np.arange(len(index)), index] = 1.0
            return one_hot
        if self.image:
            return obs
        if self.offsets is not None:
            one_hots = np.zeros((len(obs), self.size), np.float32)
            np.put_along_axis(one_hots, obs.reshape(len(obs), -1) + self.offsets, 1.0, 1)
            return one_hots
        flat = obs.reshape(len(obs), self.size)
        if self.mode == "none":
            flat = flat if flat.dtype == np.float32 else flat.astype(np.float32)
            return flat if self.scale is None else flat * self.scale
        scaled = (flat - self._mean32) * self._scale32
        return np.clip(scaled, -self.clip, self.clip, out=scaled)

    @property
    def awaits_statistics(self) -> bool:
        """Whether inputs are to be normalised by running statistics, of which there are none yet."""
        return self.mode == "running" and self.count == 0

    def observe(self, obs: np.ndarray) -> None:
        """Update the running statistics with a batch of raw observations."""
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
            f"{self.name}.mean": self.mean,
            f"{self.name}.var": self.var,
            f"{self.name}.count": np.array([self.count]),
        }

    def load_buffers(self, arrays: dict[str, np.ndarray]) -> None:
        """Take statistics back from a checkpoint."""
        if self.mode == "none":
            return
        self.mean = np.array(arrays[f"{self.name}.mean"], np.float64)
        self.var = np.array(arrays[f"{self.name}.var"], np.float64)
        self.count = float(arrays[f"{self.name}.count"][0])
        self._prepare()

    def _prepare(self) -> None:
        self._mean32 = self.mean.astype(np.float32)
        self._scale32 = (1.0 / np.sqrt(self.var + 1e-8)).astype(np.float32)


class PartsPreprocessor:
    """Preprocesses observations of several parts, each by itself.

    If all are numbers and one-hots they are joined into one matrix, which either engine takes.
    Otherwise they stay apart, in one structured array, and the torch engine's encoder joins them.
    """

    def __init__(self, layout: PolicyLayout) -> None:
        self.parts = {part.leaf.name: Preprocessor(layout, part) for part in layout.inputs}
        self.dtype: np.dtype[Any] | None = None
        if layout.encoder is not None:
            fields: list[Any] = []
            for part in layout.inputs:
                if part.kind == "image":
                    fields.append((part.leaf.name, part.leaf.dtype, part.leaf.shape))
                elif part.kind == "index":
                    fields.append((part.leaf.name, np.int64))
                else:
                    fields.append((part.leaf.name, np.float32, (part.width,)))
            self.dtype = np.dtype(fields, align=True)

    def apply(self, obs: np.ndarray) -> np.ndarray:
        """Network input of observations [B]: numbers [B, D], or a structured array [B]."""
        parts = {name: part.apply(obs[name]) for name, part in self.parts.items()}
        if self.dtype is None:
            return np.concatenate(list(parts.values()), 1)
        joined = np.empty(len(obs), self.dtype)
        for name, values in parts.items():
            joined[name] = values
        return joined

    @property
    def awaits_statistics(self) -> bool:
        return any(part.awaits_statistics for part in self.parts.values())

    def observe(self, obs: np.ndarray) -> None:
        """Update the running statistics of all parts."""
        for name, part in self.parts.items():
            part.observe(obs[name])

    def buffers(self) -> dict[str, np.ndarray]:
        """Statistics, to be stored with the weights."""
        return {name: value for part in self.parts.values() for name, value in part.buffers().items()}

    def load_buffers(self, arrays: dict[str, np.ndarray]) -> None:
        """Take statistics back from a checkpoint."""
        for part in self.parts.values():
            part.load_buffers(arrays)


def build_preprocessor(layout: PolicyLayout) -> Preprocessor | PartsPreprocessor:
    """The preprocessor that fits the observation space."""
    plain = len(layout.inputs) == 1 and not layout.inputs[0].leaf.name
    return Preprocessor(layout) if plain else PartsPreprocessor(layout)


def _offsets(space: gym.spaces.MultiDiscrete) -> np.ndarray:
    begins = np.concatenate([[0], np.cumsum(space.nvec.ravel())[:-1]])
    return begins - space.start.ravel()
