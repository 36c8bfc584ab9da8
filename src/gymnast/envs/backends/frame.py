"""The arrays of one step of N envs, filled again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.contract import Step
from gymnast.spaces.plain import array_type

Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]


class Frame:
    """The arrays of one step. Two are used in turn, so a step leaves the one before it whole."""

    def __init__(
        self,
        n_envs: int,
        observation_space: gym.Space[Any],
        parts: Sequence[str],
        allocate: Allocate = np.zeros,
        mask_size: int = 0,
        values: Sequence[str] = (),
    ) -> None:
        shape, dtype = array_type(observation_space)
        self.final_obs = allocate((n_envs, *shape), dtype)
        # Why an env's episode ended, or only its return; valid where terminated or truncated.
        self.life_lost = allocate((n_envs,), np.dtype(np.bool_))
        self.lost = allocate((n_envs,), np.dtype(np.bool_))
        self.masks = allocate((n_envs, mask_size), np.dtype(np.bool_)) if mask_size else None
        self.step = Step(
            obs=allocate((n_envs, *shape), dtype),
            rewards=allocate((n_envs,), np.dtype(np.float64)),
            terminated=allocate((n_envs,), np.dtype(np.bool_)),
            truncated=allocate((n_envs,), np.dtype(np.bool_)),
            final_obs=None,
            reward_parts={name: allocate((n_envs,), np.dtype(np.float64)) for name in parts},
            episode_values={name: allocate((n_envs,), np.dtype(np.float64)) for name in values},
        )

    def rows(self, start: int, stop: int) -> Frame:
        """The part of the arrays that belongs to some of the envs, as views."""
        part = object.__new__(Frame)
        part.final_obs = self.final_obs[start:stop]
        part.life_lost, part.lost = self.life_lost[start:stop], self.lost[start:stop]
        part.masks = None if self.masks is None else self.masks[start:stop]
        part.step = Step(
            obs=self.step.obs[start:stop],
            rewards=self.step.rewards[start:stop],
            terminated=self.step.terminated[start:stop],
            truncated=self.step.truncated[start:stop],
            final_obs=None,
            reward_parts={name: array[start:stop] for name, array in self.step.reward_parts.items()},
            episode_values={name: array[start:stop] for name, array in self.step.episode_values.items()},
        )
        return part

    def finish(self, any_done: bool) -> Step:
        """The step, with what there is only if an env finished."""
        step = self.step
        step.final_obs = step.life_lost = step.lost = None
        if any_done:
            step.final_obs = self.final_obs
            done = step.terminated | step.truncated
            step.life_lost, step.lost = _marked(self.life_lost, done), _marked(self.lost, done)
        return step


def _marked(flags: np.ndarray, done: np.ndarray) -> np.ndarray | None:
    """The flags of this step [N], which those of an earlier one are left beside; None if there are none."""
    marked: np.ndarray = flags & done
    return marked if marked.any() else None
