"""Action masks: which choices are allowed, as one row of M booleans for each observation.

A row has one entry for each choice of each discrete factor, in the order of the network's logits:
the n choices of a Discrete; n_1, n_2 … of a MultiDiscrete one after the other; off and on for each
bit of a MultiBinary; the parts of a Dict or Tuple in turn. Real numbers have none.

A logit that is masked is replaced by a number so low that its probability is exactly 0 in float32
and yet finite: p · log p and every derivative are then exactly 0 without a further case (Huang &
Ontañón, 2020, arXiv:2006.14171).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.spaces.action_form import ActionForm, Leaf

Array = Any  # numpy.ndarray or torch.Tensor

NEVER = -1e30


def masked(xp: Any, outputs: Array, masks: Array) -> Array:
    """Outputs [A, B] where choices that masks [B, M] forbid have probability 0."""
    allowed, n_logits = masks.T, masks.shape[1]
    if n_logits == len(outputs):
        return xp.where(allowed, outputs, NEVER)
    return xp.concatenate([xp.where(allowed, outputs[:n_logits], NEVER), outputs[n_logits:]])


class MaskReader:
    """From what an env gives as `info["action_mask"]` to a row of M booleans."""

    def __init__(self, space: gym.Space[Any]) -> None:
        self.form = ActionForm(space)
        self.size = self.form.n_logits
        self._one_choice = isinstance(space, gym.spaces.Discrete)
        sizes = [size for size in self.form.sizes if size]
        self._starts = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64)

    def read(self, mask: Any, into: np.ndarray) -> None:
        """Write one env's mask into a row [M]; ValueError if something is wrong with it."""
        if self._one_choice:
            if np.shape(mask) != into.shape:
                raise ValueError(f"has shape {np.shape(mask)} where ({self.size},) is wanted")
            into[:] = mask
            return
        flat = np.asarray(mask) if isinstance(mask, np.ndarray | list) else None
        if flat is not None and flat.shape == (self.size,) and flat.dtype != object:
            into[:] = flat
            return
        for leaf in self.form.leaves:
            if leaf.logits.start < leaf.logits.stop:
                _read_leaf(leaf, _part(mask, leaf.keys), into[leaf.logits])

    def read_batch(self, masks: Any, n: int) -> np.ndarray:
        """Masks [N, M] of n observations: such an array, or n masks as an env gives them."""
        if not self.size:
            raise GymnastError(f"actions of {self.form.space} have no choices that could be masked")
        if len(masks) != n:
            raise GymnastError(f"{len(masks)} action masks are given for {n} observations")
        rows = np.zeros((n, self.size), np.bool_)
        for index, mask in enumerate(masks):
            try:
                self.read(mask, rows[index])
            except ValueError as error:
                raise GymnastError(f"the action mask of observation {index} {error}") from error
        if (bad := self.row_without_choice(rows)) is not None:
            raise GymnastError(f"the action mask of observation {bad} forbids every action")
        return rows

    def row_without_choice(self, rows: np.ndarray) -> int | None:
        """The first row [N, M] that leaves some factor nothing to choose; None if there is none."""
        # Calls of the ufuncs themselves: `any` and `all` take twice as long on a few envs.
        if self._one_choice:
            possible = np.logical_or.reduce(rows, 1)
        else:
            possible = np.logical_and.reduce(np.logical_or.reduceat(rows, self._starts, axis=1), 1)
        return None if np.logical_and.reduce(possible) else int(possible.argmin())


def _part(mask: Any, keys: Sequence[Any]) -> Any:
    """The part of a nested mask; None, for everything allowed, where it does not mention it."""
    for key in keys:
        if mask is None:
            return None
        if isinstance(mask, dict):
            mask = mask.get(key)
        elif isinstance(mask, list | tuple) and isinstance(key, int) and key < len(mask):
            mask = mask[key]
        else:
            raise ValueError(f"has {type(mask).__name__} where a mask for {key!r} is wanted")
    return mask


def _read_leaf(leaf: Leaf, mask: Any, into: np.ndarray) -> None:
    where = f" at {'.'.join(map(str, leaf.keys))}" if leaf.keys else ""
    if mask is None:
        into[:] = True
        return
    if isinstance(leaf.space, gym.spaces.MultiBinary) and np.shape(mask) == leaf.space.shape:
        # As Gymnasium's `sample` takes it: 0 is off, 1 is on, 2 is either.
        bits = np.ravel(mask)
        into[0::2], into[1::2] = bits != 1, bits != 0
        return
    if isinstance(leaf.space, gym.spaces.MultiDiscrete) and isinstance(mask, tuple):
        mask = np.concatenate(_leaves(mask))
    if np.shape(mask) != into.shape:
        raise ValueError(f"has shape {np.shape(mask)}{where} where {into.shape} is wanted")
    into[:] = mask


def _leaves(mask: Any) -> list[np.ndarray]:
    """The arrays of nested tuples, in order."""
    if isinstance(mask, tuple):
        return [array for part in mask for array in _leaves(part)]
    return [np.asarray(mask).reshape(-1)]
