"""Axes: a range that holds the values, round ticks, and numbers that are short and still tell them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_LARGEST, _SMALLEST = 1e150, 1e-150  # beyond them differences overflow and ratios lose their digits
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def finite(values: Iterable[float] | np.ndarray) -> np.ndarray:
    """Numbers as float64, with NaN for whatever cannot be drawn."""
    array = np.array(values if isinstance(values, np.ndarray) else list(values), np.float64).ravel()
    array[~np.isfinite(array)] = np.nan
    array[np.abs(array) < _SMALLEST] = 0.0
    return np.clip(array, -_LARGEST, _LARGEST, out=array)


def short_number(value: float, digits: int = 3) -> str:
    """A number in a few characters: 1.2M, 35k, 0.25, 3e-4."""
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-3:
        return _exponent(value, digits)
    for unit, letter in _UNITS:
        if size >= unit * 10 or (size >= unit and unit > 1e3):
            return (
                f"{value / unit:.{digits}g}{letter}" if size < 1000 * unit else f"{value / unit:.0f}{letter}"
            )
    return f"{value:.0f}" if size >= 10**digits else f"{value:.{digits}g}"


def _exponent(value: float, digits: int) -> str:
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(power)}"


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, in the values' own unit; `linear` is how far a symlog axis is straight around 0.

    kind: linear; log (all values above 0); symlog (logarithmic away from 0 on both sides).
    """

    low: float
    high: float
    kind: str = "linear"
    linear: float = 1.0

    def share(self, values: np.ndarray) -> np.ndarray:
        """Where values lie between the ends: 0 at `low`, 1 at `high`."""
        low, high = self._bent(np.array([self.low, self.high]))
        return (self._bent(values) - low) / (high - low)

    def _bent(self, values: np.ndarray) -> np.ndarray:
        if self.kind == "log":
            return np.log10(values)
        if self.kind == "symlog":
            return np.sign(values) * np.log10(1 + np.abs(values) / self.linear)
        return values

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most about `most` round values with their labels."""
        values = round_values(self.low, self.high, most) if self.kind == "linear" else self._decades(most)
        return list(zip(values, labels(values, even=self.kind == "linear"), strict=True))

    def _decades(self, most: int) -> list[float]:
        smallest = self.low if self.kind == "log" else self.linear
        first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(max(abs(self.low), self.high)))
        stride = max(1, math.ceil((last - first + 1) * (1 if self.low >= 0 else 2) / most))
        powers = [10.0**power for power in range(first, last + 1, stride)]
        if last - first < 3 and self.kind == "log":
            powers = [factor * power for power in powers for factor in (1, 2, 5)]
        sides = powers if self.kind == "log" else [-p for p in reversed(powers)] + [0.0, *powers]
        return [value for value in sides if self.low <= value <= self.high]


def axis_of(*values: np.ndarray, log: bool = False, padding: float = 0.0) -> Axis:
    """The axis that holds all values, with a little space when they are all the same.

    `padding` is the share of the range that is left free at both ends.
    """
    there = np.concatenate([array[np.isfinite(array)] for array in values]) if values else np.empty(0)
    if not there.size:
        return Axis(0.0, 1.0)
    low, high = float(there.min()), float(there.max())
    if log and high > low:
        sizes = np.abs(there[there != 0])
        if low > 0 and high / low > 2:
            spare = (high / low) ** padding
            return Axis(low / spare, high * spare, "log")
        if low <= 0:
            linear = max(float(sizes.min()), float(sizes.max()) * 1e-6)
            room = 1 + 4 * padding
            return Axis(low * room, high * room if high > 0 else high / room, "symlog", linear)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(high) * 0.05 or 1.0
        return Axis(low - room, high + room)
    room = padding * (high - low)
    return Axis(low - room, high + room)


def round_values(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between `low` and `high`, at most about `most`."""
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999), power * 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def labels(values: list[float], *, even: bool = True) -> list[str]:
    """Labels of ticks in one unit, with just enough digits to tell neighbours apart."""
    largest = max((abs(value) for value in values), default=0.0)
    if not even or largest >= 1e15 or largest < 1e-2 or len(values) < 2:
        return ["0" if value == 0 else short_number(value) for value in values]
    unit, letter = next(((u, name) for u, name in _UNITS if largest >= (1e4 if u == 1e3 else u)), (1.0, ""))
    step = min(abs(b - a) for a, b in pairwise(values)) / unit
    digits = min(9, max(0, -math.floor(math.log10(step) + 1e-9)))
    return ["0" if value == 0 else f"{value / unit:.{digits}f}{letter}" for value in values]
