"""Which spaces are supported, and the plain form in which they are handed to the rest.

Consumers meet three kinds only: Box observations as float32 (pixels stay uint8), Discrete counted
from 0, and one-dimensional float32 Box actions. Whatever an env does beyond that is undone here.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError

_SUPPORTED_OBSERVATIONS = "Box and Discrete"
_SUPPORTED_ACTIONS = "Discrete and one-dimensional Box"


def check_spaces(
    observation_space: gym.Space[Any], action_space: gym.Space[Any], env_id: str = "the env"
) -> None:
    """Raise GymnastError, naming the space and what would do, unless both can be learned from."""
    if not _observation_supported(observation_space):
        hint = " (gymnasium.wrappers.FlattenObservation may help)" if _flattens(observation_space) else ""
        raise GymnastError(
            f"{env_id}: observation space {observation_space} is not supported;"
            f" supported are {_SUPPORTED_OBSERVATIONS}{hint}"
        )
    if not _action_supported(action_space):
        raise GymnastError(
            f"{env_id}: action space {action_space} is not supported; supported are {_SUPPORTED_ACTIONS}"
        )


def _observation_supported(space: gym.Space[Any]) -> bool:
    if isinstance(space, gym.spaces.Box):
        return int(np.prod(space.shape)) > 0
    return isinstance(space, gym.spaces.Discrete)


def _action_supported(space: gym.Space[Any]) -> bool:
    if isinstance(space, gym.spaces.Box):
        return len(space.shape) == 1 and space.shape[0] > 0 and np.issubdtype(space.dtype, np.floating)
    return isinstance(space, gym.spaces.Discrete)


def _flattens(space: gym.Space[Any]) -> bool:
    return isinstance(
        space, gym.spaces.Dict | gym.spaces.Tuple | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary
    )


def plain_space(space: gym.Space[Any]) -> gym.Space[Any]:
    """The space as consumers see it: see the module's docstring."""
    if isinstance(space, gym.spaces.Discrete):
        return gym.spaces.Discrete(int(space.n))
    assert isinstance(space, gym.spaces.Box)
    if space.dtype == np.uint8:
        return space
    with np.errstate(over="ignore"):  # float64 bounds such as 1e308 become infinite, which is what they mean
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    return gym.spaces.Box(low, high, dtype=np.float32)


def first_value(space: gym.Space[Any]) -> int:
    """The number that a Discrete space starts at; 0 for any other space."""
    return int(space.start) if isinstance(space, gym.spaces.Discrete) else 0


def array_type(space: gym.Space[Any]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of one element of a plain space inside a batch."""
    if isinstance(space, gym.spaces.Discrete):
        return (), np.dtype(np.int64)
    assert isinstance(space, gym.spaces.Box)
    return space.shape, space.dtype
