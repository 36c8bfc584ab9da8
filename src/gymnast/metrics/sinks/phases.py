"""Where a run's time goes: collecting, learning, evaluating, and what is none of these."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymnast.training.report import Timing

NAMES = ("collect", "learn", "evaluate", "other")
MEMORY_SECONDS = 30.0  # what is older counts less and less


class Phases:
    """Shares of the last half minute or so; adding an update costs a fraction of a microsecond."""

    __slots__ = ("_collect", "_evaluate", "_kept", "_learn", "_seconds")

    def __init__(self) -> None:
        self._collect = self._learn = self._evaluate = 0.0  # since the last call of `shares`
        self._seconds: float | None = None
        self._kept = [0.0] * len(NAMES)

    def add(self, timing: Timing) -> None:
        self._collect += timing.collect
        self._learn += timing.learn
        self._evaluate += timing.evaluate

    def shares(self, seconds: float | None) -> dict[str, float]:
        """Fractions by phase, at so many seconds of training; nothing before the first update."""
        new = [self._collect, self._learn, self._evaluate]
        measured = sum(new)
        if measured > 0:
            self._collect = self._learn = self._evaluate = 0.0
            # The first update's own beginning is not known: what it did not measure is left out.
            elapsed = measured if seconds is None or self._seconds is None else seconds - self._seconds
            self._seconds = seconds
            fade = math.exp(-max(measured, elapsed) / MEMORY_SECONDS)
            new.append(max(0.0, elapsed - measured))
            self._kept = [fade * old + added for old, added in zip(self._kept, new, strict=True)]
        total = sum(self._kept)
        return {name: part / total for name, part in zip(NAMES, self._kept, strict=True)} if total else {}
