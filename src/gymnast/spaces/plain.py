"""Which spaces are supported, and the plain form in which they are handed to the rest.

Consumers meet few kinds only: Box observations as float32 (pixels stay uint8), choices counted from
0, one-dimensional float32 Box actions. Whatever an env does beyond that is undone here. Observations
of several parts travel as one structured array (`spaces/observation_form.py`); actions of several
parts have a flat form of their own (`spaces/action_form.py`).
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.spaces import observation_form
from gymnast.spaces.action_form import SUPPORTED, why_not_supported


def check_spaces(
    observation_space: gym.Space[Any], action_space: gym.Space[Any], env_id: str = "the env"
) -> None:
    """Raise GymnastError, naming the space and what would do, unless both can be learned from."""
    if (reason := observation_form.why_not_supported(observation_space)) is not None:
        raise GymnastError(
            f"{env_id}: observation space {observation_space} is not supported: {reason};"
            f" supported are {observation_form.SUPPORTED}"
        )
    if (reason := why_not_supported(action_space)) is not None:
        raise GymnastError(
            f"{env_id}: action space {action_space} is not supported: {reason}; supported are {SUPPORTED}"
        )


def plain_space(space: gym.Space[Any]) -> gym.Space[Any]:
    """The space as consumers see it: see the module's docstring."""
    return observation_form.plain_observation_space(space)


def first_value(space: gym.Space[Any]) -> int:
    """The number that a Discrete space starts at; 0 for any other space."""
    return int(space.start) if isinstance(space, gym.spaces.Discrete) else 0


def array_type(space: gym.Space[Any]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of one element of a plain space inside a batch."""
    form = observation_form.ObservationForm(space)
    return form.shape, form.dtype
