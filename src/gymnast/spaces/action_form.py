"""The flat form of an action space: one row of numbers per action, whatever the env wants to be given.

An action of any supported space is a list of K factors, each a choice among n or a real number, in
the order in which the space lists them (a Dict by its keys). Inside Gymnast a batch of actions is one
array [N, K]: choices count from 0, real numbers are float32. The policy is the product of one
distribution per factor, so log-probabilities and entropies add up. Only at the border to the env is
an action put together as its space says, with real numbers in the space's dtype and within its bounds: a
float32 bound may lie beyond the same bound in float64.

The network's outputs have all logits first, factor by factor, then the means of the real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError

SUPPORTED = "Discrete, MultiDiscrete, MultiBinary, Box of floats, and Dict or Tuple of these"


@dataclass(frozen=True, slots=True)
class Choices:
    """Neighbouring factors with the same number of choices, which are computed together."""

    columns: slice  # of the flat action
    rows: slice  # of the network's outputs, and of a mask
    count: int  # factors
    n: int  # choices of each


@dataclass(frozen=True, slots=True)
class Leaf:
    """One space without parts, and its place in the flat action."""

    space: gym.Space[Any]
    keys: tuple[Any, ...]  # how the env's action is indexed to get here; () for the whole of it
    columns: slice
    sizes: tuple[int, ...]  # choices of each factor; 0 for a real number
    logits: slice  # of the network's outputs, and of a mask; empty for a Box
    bounds: tuple[np.ndarray, np.ndarray] | None = None  # `finite_bounds` of a Box

    def values(self, actions: np.ndarray) -> np.ndarray:
        """Flat actions [N, K] as N elements of this space, each with its shape and dtype."""
        space, own = self.space, actions[:, self.columns]
        if isinstance(space, gym.spaces.Discrete):
            return own[:, 0].astype(np.int64) + int(space.start)
        if isinstance(space, gym.spaces.MultiDiscrete):
            return own.astype(space.dtype).reshape(-1, *space.shape) + space.start
        if isinstance(space, gym.spaces.MultiBinary):
            return own.astype(space.dtype).reshape(-1, *space.shape)
        assert isinstance(space, gym.spaces.Box)
        assert self.bounds is not None
        return np.clip(own.reshape(-1, *space.shape), *self.bounds).astype(space.dtype)

    def factors(self, value: Any) -> np.ndarray:
        """The factors of one element: the inverse of `values`."""
        if isinstance(self.space, gym.spaces.Discrete):
            return np.array([int(value) - int(self.space.start)])
        if isinstance(self.space, gym.spaces.MultiDiscrete):
            return np.ravel(np.asarray(value) - self.space.start)
        return np.ravel(np.asarray(value))


class ActionForm:
    """How the flat form of one action space is laid out, and the way to the env's form and back."""

    def __init__(self, space: gym.Space[Any]) -> None:
        if (reason := why_not_supported(space)) is not None:
            raise GymnastError(f"actions of {space} are not supported: {reason}; supported are {SUPPORTED}")
        self.space = space
        self.leaves: list[Leaf] = []
        self._assemble = self._grow(space, ())
        self.sizes = tuple(size for leaf in self.leaves for size in leaf.sizes)
        self.n_columns = len(self.sizes)
        self.n_logits = sum(self.sizes)
        self.n_means = self.sizes.count(0)
        self.dtype: type = np.float32 if self.n_means else np.int64
        # Of the actions that envs are given: float64 where a Box needs it, or its bounds would be rounded.
        floats = [leaf.space.dtype for leaf in self.leaves if isinstance(leaf.space, gym.spaces.Box)]
        self.env_dtype: np.dtype[Any] = np.result_type(self.dtype, *floats)
        self.choices = self._group()
        reals = [column for column, size in enumerate(self.sizes) if size == 0]
        # A slice where it can be: taking columns one by one copies.
        self.real_columns: slice | list[int] = reals
        if reals and reals[-1] - reals[0] + 1 == len(reals):
            self.real_columns = slice(reals[0], reals[-1] + 1)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each factor: `action 2`, or the path to it in a Dict or Tuple."""
        names: list[str] = []
        for leaf in self.leaves:
            count, path = len(leaf.sizes), ".".join(map(str, leaf.keys))
            if not path:
                names += [f"action {index}" for index in range(count)]
            else:
                names += [path] if count == 1 else [f"{path}[{index}]" for index in range(count)]
        return tuple(names)

    def box(self) -> gym.spaces.Box:
        """All real numbers as one space of `env_dtype`."""
        boxes = [leaf.space for leaf in self.leaves if isinstance(leaf.space, gym.spaces.Box)]
        low, high = (
            np.concatenate([np.ravel(bound).astype(self.env_dtype) for bound in bounds])
            for bounds in zip(*((space.low, space.high) for space in boxes), strict=True)
        )
        return gym.spaces.Box(low, high, dtype=self.env_dtype)

    def batch(self, actions: np.ndarray) -> Any:
        """Flat actions [N, K] as one batch of the space, as Gymnasium's vector envs take it."""
        return self._assemble([leaf.values(actions) for leaf in self.leaves])

    def each(self, actions: np.ndarray) -> list[Any]:
        """Flat actions [N, K] as N elements of the space."""
        parts = [self._split(leaf, actions) for leaf in self.leaves]
        if len(parts) == 1 and self.leaves[0].space is self.space:
            return parts[0]
        return [self._assemble(row) for row in zip(*parts, strict=True)]

    def flatten(self, action: Any) -> np.ndarray:
        """One element of the space as a flat action [K]."""
        flat: np.ndarray = np.zeros(self.n_columns, self.dtype)
        for leaf in self.leaves:
            value = action
            for key in leaf.keys:
                value = value[key]
            flat[leaf.columns] = leaf.factors(value)
        return flat

    @staticmethod
    def _split(leaf: Leaf, actions: np.ndarray) -> list[Any]:
        values = leaf.values(actions)
        # Plain ints: an env's `action_space.contains` is faster on them.
        if isinstance(leaf.space, gym.spaces.Discrete):
            return values.tolist()
        return list(values) if values.ndim > 1 else [np.asarray(value) for value in values]

    def _grow(self, space: gym.Space[Any], keys: tuple[Any, ...]) -> Callable[[Sequence[Any]], Any]:
        """Note the leaves below `space`; what puts their values together again."""
        if isinstance(space, gym.spaces.Dict):
            by_key = {key: self._grow(part, (*keys, key)) for key, part in space.items()}
            return lambda parts: {key: build(parts) for key, build in by_key.items()}
        if isinstance(space, gym.spaces.Tuple):
            builds = [self._grow(part, (*keys, index)) for index, part in enumerate(space)]
            return lambda parts: tuple(build(parts) for build in builds)
        index = len(self.leaves)
        column = self.leaves[-1].columns.stop if self.leaves else 0
        row = self.leaves[-1].logits.stop if self.leaves else 0
        sizes = _sizes(space)
        columns, logits = slice(column, column + len(sizes)), slice(row, row + sum(sizes))
        bounds = finite_bounds(space) if isinstance(space, gym.spaces.Box) else None
        self.leaves.append(Leaf(space, keys, columns, sizes, logits, bounds))
        return lambda parts: parts[index]

    def _group(self) -> tuple[Choices, ...]:
        groups: list[Choices] = []
        row = 0
        for column, n in enumerate(self.sizes):
            if n == 0:
                continue
            last = groups[-1] if groups else None
            if last is not None and last.n == n and last.columns.stop == column:
                groups[-1] = Choices(
                    slice(last.columns.start, column + 1), slice(last.rows.start, row + n), last.count + 1, n
                )
            else:
                groups.append(Choices(slice(column, column + 1), slice(row, row + n), 1, n))
            row += n
        return tuple(groups)


def finite_bounds(space: gym.spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that keep float32 actions in a Box, where it has none the largest numbers of its dtype.

    At least float32: numbers clipped to bounds that the Box's dtype holds stay within them when they are
    rounded to it.
    """
    own: Any = space.dtype  # a float's, see `why_not_supported`
    largest, dtype = np.finfo(own).max, np.result_type(np.float32, own)
    return space.low.clip(min=-largest).astype(dtype), space.high.clip(max=largest).astype(dtype)


def is_plain(space: gym.Space[Any]) -> bool:
    """Whether actions need no flat form: one choice, or one row of real numbers."""
    return isinstance(space, gym.spaces.Discrete) or (
        isinstance(space, gym.spaces.Box) and len(space.shape) == 1
    )


def why_not_supported(space: gym.Space[Any]) -> str | None:
    """What is wrong with an action space, or None if it can be learned."""
    match space:
        case gym.spaces.Discrete() | gym.spaces.MultiDiscrete() | gym.spaces.MultiBinary():
            return None if _sizes(space) else f"{space} has no factors"
        case gym.spaces.Box():
            if not np.issubdtype(space.dtype, np.floating):
                return f"a Box of {space.dtype} is not a Box of floats (MultiDiscrete means the same)"
            return None if _sizes(space) else f"{space} has no factors"
        case gym.spaces.Dict() | gym.spaces.Tuple():
            parts = list(space.values()) if isinstance(space, gym.spaces.Dict) else list(space)
            if not parts:
                return f"{type(space).__name__} is empty"
            return next((reason for part in parts if (reason := why_not_supported(part))), None)
        case _:
            return f"{type(space).__name__} is not one of them"


def _sizes(space: gym.Space[Any]) -> tuple[int, ...]:
    match space:
        case gym.spaces.Discrete(n=n):
            return (int(n),)
        case gym.spaces.MultiDiscrete(nvec=nvec):
            return tuple(np.ravel(nvec).tolist())
        case gym.spaces.MultiBinary(shape=shape):
            return (2,) * int(np.prod(shape))
        case gym.spaces.Box(shape=shape):
            return (0,) * int(np.prod(shape))
    raise AssertionError(space)
