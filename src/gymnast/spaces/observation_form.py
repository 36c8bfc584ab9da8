"""The form in which observations travel: one NumPy array, whatever the space.

A batch of plain observations is an array [N, …]: numbers as float32, pixels (uint8) as they are,
choices as int64 from 0, bits as int8. A Dict or Tuple becomes ONE structured array [N] with a field
for each leaf, named by the way to it (`camera`, `arm/0`): buffers, shared memory, slices and
concatenations work on it as on any other array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError, cut

SUPPORTED = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One space without parts."""

    name: str  # "" where it is the whole observation
    keys: tuple[Any, ...]  # how an observation is indexed to get here
    space: gym.Space[Any]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    first: Any  # what its choices count from: a number or an array; None for 0


class ObservationForm:
    """The leaves of one observation space and the array that holds a batch of them."""

    def __init__(self, space: gym.Space[Any]) -> None:
        if (reason := why_not_supported(space)) is not None:
            raise GymnastError(
                f"observations of {space} are not supported: {reason}; supported are {SUPPORTED}"
            )
        self.space = space
        self.leaves = tuple(_leaves(space, "", ()))
        self.has_parts = isinstance(space, gym.spaces.Dict | gym.spaces.Tuple)
        if self.has_parts:
            fields = [(leaf.name, leaf.dtype, leaf.shape) for leaf in self.leaves]
            self.shape: tuple[int, ...] = ()
            # Aligned, so that a field of floats beside bytes can be read in place.
            self.dtype: np.dtype[Any] = np.dtype(fields, align=True)
        else:
            self.shape, self.dtype = self.leaves[0].shape, self.leaves[0].dtype

    def rows(self, batch: np.ndarray) -> Any:
        """Something to assign an env's observations to, row by row: `rows[i] = obs`."""
        # A plain array takes them as they are; only the odd MultiDiscrete does not count from 0.
        first = self.leaves[0].first
        return _Rows(self, batch) if self.has_parts or isinstance(first, np.ndarray) else batch

    def misfit(self, obs: Any) -> str | None:
        """What is wrong with the structure of a single observation, in words; None if it fits."""
        for leaf in self.leaves:
            value = obs
            try:
                for key in leaf.keys:
                    value = value[key]
            except (KeyError, IndexError, TypeError):
                return f"returned an observation without '{leaf.name}', which its space has"
            what = f"'{leaf.name}'" if leaf.name else "an observation"
            if np.shape(value) != leaf.shape:
                return f"returned {what} of shape {np.shape(value)}; its space has {leaf.shape}"
            if (dtype := np.asarray(value).dtype).kind not in "biuf":
                return f"returned {what} of {dtype}, such as {str(value)[:40]!r}; its space has numbers"
        return None

    def batch(self, obs: Any) -> np.ndarray:
        """A batch from what a user holds: an array [N, …], or a Dict or tuple of arrays [N, …]."""
        if isinstance(obs, np.ndarray) and self.has_parts and obs.dtype == self.dtype and obs.ndim == 1:
            return obs
        if not self.has_parts:
            return self._plain_batch(obs)
        columns = {}
        for leaf in self.leaves:
            value = obs
            try:
                for key in leaf.keys:
                    value = value[key]
                columns[leaf.name] = value = np.asarray(value)
                fits = value.shape[1:] == leaf.shape and value.ndim > 0
            except (KeyError, IndexError, TypeError):
                known = sorted(obs) if isinstance(obs, Mapping) else type(obs).__name__
                raise GymnastError(f"the observations have no '{leaf.name}': got {known}") from None
            if not fits:
                wanted = ", ".join(("N", *map(str, leaf.shape)))
                raise GymnastError(
                    f"observations '{leaf.name}' have the shape {value.shape}; ({wanted}) is expected"
                )
        batch = np.empty(len(columns[self.leaves[0].name]), self.dtype)
        for leaf in self.leaves:
            batch[leaf.name] = columns[leaf.name]
        return batch

    def _plain_batch(self, obs: Any) -> np.ndarray:
        """Raise GymnastError unless it has the shape [N, …] and holds numbers."""
        wanted = f"({', '.join(('N', *map(str, self.shape)))}{',' if not self.shape else ''})"
        try:
            batch = np.asarray(obs)
        except ValueError:  # rows of different lengths
            raise GymnastError(f"observations of different shapes; one array {wanted} is expected") from None
        if batch.dtype.kind not in "biuf":
            raise GymnastError(f"observations must be numbers {wanted}, got {cut(repr(obs))}")
        if batch.shape == self.shape:
            raise GymnastError(
                f"a single observation of the shape {batch.shape}; a batch {wanted} is expected:"
                " obs[None] makes one"
            )
        if batch.ndim == 0 or batch.shape[1:] != self.shape:
            raise GymnastError(f"observations have the shape {batch.shape}; {wanted} is expected")
        return batch


class _Rows:
    """Writes observations with parts into the fields of a structured array, choices counted from 0."""

    __slots__ = ("_columns",)

    def __init__(self, form: ObservationForm, batch: np.ndarray) -> None:
        self._columns = [
            (batch[leaf.name] if form.has_parts else batch, leaf.keys, leaf.first) for leaf in form.leaves
        ]

    def __setitem__(self, index: int, obs: Any) -> None:
        for column, keys, first in self._columns:
            value = obs
            for key in keys:
                value = value[key]
            column[index] = value - first if first is not None else value


def why_not_supported(space: gym.Space[Any]) -> str | None:
    """Why a policy cannot take observations of this space; None if it can."""
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, gym.spaces.Dict) else enumerate(space.spaces)
        reasons = [f"in '{key}', {why}" for key, part in parts if (why := why_not_supported(part))]
        if not len(space.spaces):
            return "it has no parts"
        return reasons[0] if reasons else None
    if isinstance(space, gym.spaces.Box):
        return None if int(np.prod(space.shape)) > 0 else "it has no components"
    if isinstance(space, gym.spaces.Discrete | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        return None
    return f"{type(space).__name__} has no numbers of a fixed count"


def plain_leaf(space: gym.Space[Any]) -> gym.Space[Any]:
    """A space without parts as it travels: numbers as float32, pixels as they are, choices from 0."""
    if isinstance(space, gym.spaces.Discrete):
        return gym.spaces.Discrete(int(space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return gym.spaces.MultiDiscrete(space.nvec)
    if not isinstance(space, gym.spaces.Box) or space.dtype == np.uint8:
        return space
    with np.errstate(over="ignore"):  # float64 bounds such as 1e308 become infinite, which is what they mean
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    return gym.spaces.Box(low, high, dtype=np.float32)


def plain_observation_space(space: gym.Space[Any]) -> gym.Space[Any]:
    """The space of what travels: the same parts, each in plain form."""
    if isinstance(space, gym.spaces.Dict):
        return gym.spaces.Dict({key: plain_observation_space(part) for key, part in space.spaces.items()})
    if isinstance(space, gym.spaces.Tuple):
        return gym.spaces.Tuple([plain_observation_space(part) for part in space.spaces])
    return plain_leaf(space)


def _leaves(space: gym.Space[Any], name: str, keys: tuple[Any, ...]) -> list[Leaf]:
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, gym.spaces.Dict) else enumerate(space.spaces)
        under = f"{name}/" if name else ""
        return [leaf for key, part in parts for leaf in _leaves(part, f"{under}{key}", (*keys, key))]
    first: Any = None
    shape: tuple[int, ...] = ()
    dtype: type = np.int64
    if isinstance(space, gym.spaces.Discrete):
        first = int(space.start) or None
    elif isinstance(space, gym.spaces.MultiDiscrete):
        shape = space.shape
        first = space.start if np.any(space.start) else None
    elif isinstance(space, gym.spaces.MultiBinary):
        shape, dtype = space.shape, np.int8
    else:
        assert isinstance(space, gym.spaces.Box)
        shape, dtype = space.shape, np.uint8 if space.dtype == np.uint8 else np.float32
    return [Leaf(name, keys, space, tuple(shape), np.dtype(dtype), first)]


def apart(batch: np.ndarray) -> np.ndarray | dict[str, np.ndarray]:
    """A copy of a batch for a checkpoint, which holds plain arrays: one, or one for each part."""
    return (
        batch.copy()
        if batch.dtype.names is None
        else {name: batch[name].copy() for name in batch.dtype.names}
    )


def put_together(saved: Any, batch: np.ndarray) -> None:
    """Write what `apart` gave into a batch of the same kind."""
    if batch.dtype.names is None:
        batch[...] = saved
    else:
        for name in batch.dtype.names:
            batch[name] = saved[name]
