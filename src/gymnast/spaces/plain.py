"""Which spaces are supported, the plain form that the rest sees, and arrays and random actions for it.

Consumers meet few kinds only: Box observations as float32 (pixels stay uint8), choices counted from
0, one-dimensional Box actions. Whatever an env does beyond that is undone here. Observations
of several parts travel as one structured array (`spaces/observation_form.py`); actions of several
parts have a flat form of their own (`spaces/action_form.py`).
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.spaces import observation_form
from gymnast.spaces.action_form import SUPPORTED, ActionForm, why_not_supported


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


def plain_action_space(space: gym.Space[Any]) -> gym.Space[Any]:
    """Discrete counted from 0; any other space as it is."""
    return gym.spaces.Discrete(int(space.n)) if isinstance(space, gym.spaces.Discrete) else space


def action_array_type(space: gym.Space[Any]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of one action inside a batch, as the contract's `step` takes it."""
    if isinstance(space, gym.spaces.Discrete):
        return (), np.dtype(np.int64)
    form = ActionForm(space)
    return (form.n_columns,), form.env_dtype


def random_actions(
    space: gym.Space[Any], n_envs: int, random: np.random.Generator, masks: np.ndarray | None = None
) -> np.ndarray:
    """Actions for the contract's `step`, each allowed one as likely as the other.

    Real numbers are drawn from their bounds, and from -1 to 1 where there are none.
    """
    form = ActionForm(space)
    if isinstance(space, gym.spaces.Discrete):
        if masks is None:
            return random.integers(0, int(space.n), size=n_envs)
        return _random_choices(random, masks, int(space.n))[:, 0]
    actions: np.ndarray = np.zeros((n_envs, form.n_columns), form.env_dtype)
    if masks is None:
        masks = np.ones((n_envs, form.n_logits), np.bool_)
    for group in form.choices:
        actions[:, group.columns] = _random_choices(random, masks[:, group.rows], group.n)
    if form.n_means:
        box = form.box()
        low = np.where(np.isfinite(box.low), box.low, np.minimum(box.high, 1.0) - 2.0)
        high = np.where(np.isfinite(box.high), box.high, low + 2.0)
        # Halved, since the range of huge bounds is infinite; clipped, since rounding may leave the bounds.
        drawn = 2 * random.uniform(low / 2, high / 2, size=(n_envs, form.n_means))
        actions[:, form.real_columns] = np.clip(drawn, low, high)
    return actions


def _random_choices(random: np.random.Generator, masks: np.ndarray, n: int) -> np.ndarray:
    """[N, F] of masks [N, F·n]: the best of random scores, of which a forbidden choice has none."""
    allowed = masks.reshape(len(masks), -1, n)
    return np.where(allowed, random.random(allowed.shape), -1.0).argmax(2)
