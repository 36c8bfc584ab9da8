"""A number's whole history in one line of text, in constant memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BARS = "▁▂▃▄▅▆▇█"


class History:
    """The history of one number in at most `capacity` points.

    When it is full, neighbours are averaged in pairs and each later point covers twice as many values:
    the whole run stays in view, at a cost per value that never grows.
    """

    __slots__ = ("_capacity", "_count", "_stride", "_sum", "points")

    def __init__(self, capacity: int = 48) -> None:
        self.points: list[float] = []
        self._capacity = capacity - capacity % 2
        self._stride = 1
        self._sum = 0.0
        self._count = 0

    def add(self, value: float) -> None:
        if value - value != 0.0:  # NaN or infinite: would spoil every later average
            return
        self._sum += value
        self._count += 1
        if self._count < self._stride:
            return
        points = self.points
        points.append(self._sum / self._count)
        self._sum = 0.0
        self._count = 0
        if len(points) == self._capacity:
            self.points = [(a + b) / 2 for a, b in zip(points[::2], points[1::2], strict=True)]
            self._stride *= 2


def sparkline(values: Sequence[float], width: int) -> str:
    """The values as bars between their own minimum and maximum; '' for fewer than two values."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2 or width < 1:
        return ""
    points = _resample(finite, width)
    low, high = min(points), max(points)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        return BARS[3] * len(points)  # in the middle: neither low nor high
    scale = (len(BARS) - 1) / (high - low)
    return "".join(BARS[round((point - low) * scale)] for point in points)


def _resample(values: list[float], width: int) -> list[float]:
    if len(values) <= width:
        return values
    edges = [index * len(values) // width for index in range(width + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
