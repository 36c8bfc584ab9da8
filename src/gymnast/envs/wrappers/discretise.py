"""A wrapper that makes choices of real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import EnvWrapper, checked_count, checked_flag
from gymnast.errors import GymnastError

_NAME = "discretise"
_MOST = 4096  # actions of a joint choice


class Discretise(EnvWrapper):
    """Choose among some values of each continuous action, evenly spaced from its low to its high.

    One number becomes a Discrete, several a MultiDiscrete with a choice for each.

    bins: how many values, or one number for each dimension.
    joint: one choice among all combinations instead, which can express that values go together.
    """

    def __init__(self, env: gym.Env[Any, Any], bins: int | Sequence[int] = 5, joint: bool = False) -> None:
        super().__init__(env)
        space = env.action_space
        if not isinstance(space, gym.spaces.Box):
            raise GymnastError(f"wrapper '{_NAME}' is for continuous actions (Box), not {space}")
        low, high = space.low.reshape(-1), space.high.reshape(-1)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise GymnastError(f"wrapper '{_NAME}' needs actions with bounds, not {space}")
        listed = list(bins) if isinstance(bins, Sequence) else [bins] * low.size
        counts = [checked_count(_NAME, "bins", count, least=2) for count in listed]
        if len(counts) != low.size:
            raise GymnastError(
                f"wrapper '{_NAME}': bins needs one number or {low.size}, one for each dimension,"
                f" not {len(counts)}"
            )
        self._values = [
            np.linspace(a, b, count, dtype=space.dtype) for a, b, count in zip(low, high, counts, strict=True)
        ]
        self._joint = checked_flag(_NAME, "joint", joint) or low.size == 1
        total = int(np.prod(counts))
        if self._joint and total > _MOST:
            raise GymnastError(f"wrapper '{_NAME}': {total:,} combinations are too many; leave joint out")
        self.action_space = gym.spaces.Discrete(total) if self._joint else gym.spaces.MultiDiscrete(counts)
        if self._joint:
            # [total, dimensions]: every combination of values, the last dimension running fastest.
            self._rows = np.stack(np.meshgrid(*self._values, indexing="ij"), -1).reshape(total, -1)
            self.action_labels = tuple(",".join(f"{value:.3g}" for value in row) for row in self._rows)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._joint:
            chosen = self._rows[int(action)]
        else:
            pairs = zip(self._values, np.asarray(action).reshape(-1), strict=True)
            chosen = np.array([values[index] for values, index in pairs])
        space = self.env.action_space
        return self.env.step(chosen.reshape(space.shape or ()).astype(space.dtype))
