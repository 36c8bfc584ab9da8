"""Actions on the envs' side: the plain form of their spaces, arrays for them, and random ones."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.spaces.action_form import ActionForm, is_plain


def plain_action_space(space: gym.Space[Any]) -> gym.Space[Any]:
    """Discrete counted from 0 and one-dimensional Box as float32; any other space as it is."""
    if not is_plain(space):
        return space
    if isinstance(space, gym.spaces.Discrete):
        return gym.spaces.Discrete(int(space.n))
    return ActionForm(space).box()


def action_array_type(space: gym.Space[Any]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of one action inside a batch, as the contract's `step` takes it."""
    if isinstance(space, gym.spaces.Discrete):
        return (), np.dtype(np.int64)
    form = ActionForm(space)
    return (form.n_columns,), np.dtype(form.dtype)


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
    actions: np.ndarray = np.zeros((n_envs, form.n_columns), form.dtype)
    if masks is None:
        masks = np.ones((n_envs, form.n_logits), np.bool_)
    for group in form.choices:
        actions[:, group.columns] = _random_choices(random, masks[:, group.rows], group.n)
    if form.n_means:
        box = form.box()
        low = np.where(np.isfinite(box.low), box.low, np.minimum(box.high, 1.0) - 2.0)
        high = np.where(np.isfinite(box.high), box.high, low + 2.0)
        actions[:, form.real_columns] = random.uniform(low, high, size=(n_envs, form.n_means))
    return actions


def _random_choices(random: np.random.Generator, masks: np.ndarray, n: int) -> np.ndarray:
    """[N, F] of masks [N, F·n]: the best of random scores, of which a forbidden choice has none."""
    allowed = masks.reshape(len(masks), -1, n)
    return np.where(allowed, random.random(allowed.shape), -1.0).argmax(2)
