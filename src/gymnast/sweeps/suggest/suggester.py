"""The protocol of all of them, and the two that need nothing but the space: grid and random."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Protocol

from gymnast.sweeps.space import Point, Space


class Suggester(Protocol):
    """Proposes points. It is asked once for each trial, in order, and told what came of it."""

    def next(self, trial: int) -> Point | None:
        """The point of this trial; None if there is none left."""

    def refused(self, trial: int) -> None:
        """The last point cannot be trained (settings that do not fit together): another is wanted."""

    def told(self, trial: int, value: float | None) -> None:
        """The value of a trial, more is better; None if it failed."""


class RandomSuggester:
    """Points that depend on the seed and the trial alone, so a continued sweep draws the same."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed
        self._refused: dict[int, int] = {}

    def next(self, trial: int) -> Point | None:
        return self._space.draw(self._seed, trial, self._refused.get(trial, 0))

    def refused(self, trial: int) -> None:
        self._refused[trial] = self._refused.get(trial, 0) + 1

    def told(self, trial: int, value: float | None) -> None:
        """A random search does not learn."""


class GridSuggester:
    """Every point once."""

    def __init__(self, space: Space, taken: int) -> None:
        """`taken` points were handed out before."""
        self._points: Iterator[Point] = itertools.islice(space.grid(), taken, None)

    def next(self, trial: int) -> Point | None:
        return next(self._points, None)

    def refused(self, trial: int) -> None:
        """The next one is tried."""

    def told(self, trial: int, value: float | None) -> None:
        """A grid does not learn."""
