"""How a setting may be searched: a marker beside its type, which a sweep reads.

    lr: Annotated[Rate, LogRange(1e-5, 1e-2)] = Field(3e-4, …)

Each maps its range to [0, 1] in the way that suits its meaning, and back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Range:
    """Evenly between two numbers; `whole` for counts."""

    low: float
    high: float
    whole: bool = False

    def value(self, unit: float) -> float | int:
        if self.whole:
            count = int(self.high) - int(self.low) + 1
            return int(self.low) + min(int(unit * count), count - 1)
        return self.clip(self.low + unit * (self.high - self.low))

    def unit(self, value: float) -> float:
        if self.whole:
            return (self.clip(value) - self.low + 0.5) / (int(self.high) - int(self.low) + 1)
        return (self.clip(value) - self.low) / (self.high - self.low)

    def clip(self, value: float) -> float | int:
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.whole else inside


@dataclass(frozen=True, slots=True)
class LogRange:
    """Evenly in the logarithm, for what acts by its order of magnitude: rates, coefficients."""

    low: float
    high: float
    whole: bool = False

    def value(self, unit: float) -> float | int:
        if self.whole:  # every whole number has the share of the axis that is nearest to it
            low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
            return self.clip(math.exp(low + unit * (high - low)))
        return self.clip(math.exp(math.log(self.low) + unit * math.log(self.high / self.low)))

    def unit(self, value: float) -> float:
        value = self.clip(value)
        if self.whole:
            low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
            return (math.log(value) - low) / (high - low)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def clip(self, value: float) -> float | int:
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.whole else inside


@dataclass(frozen=True, slots=True)
class OneMinusLog:
    """Evenly in log(1 - x), for what is close to 1: 0.9, 0.99 and 0.999 are equally far apart."""

    low: float
    high: float

    def value(self, unit: float) -> float:
        far, near = 1 - self.low, 1 - self.high
        return self.clip(1 - far * (near / far) ** unit)

    def unit(self, value: float) -> float:
        far, near = 1 - self.low, 1 - self.high
        return math.log((1 - self.clip(value)) / far) / math.log(near / far)

    def clip(self, value: float) -> float:
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Pow2:
    """Powers of two from `low` to `high`, both of which are some."""

    low: int
    high: int

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(2**power for power in range(self.low.bit_length() - 1, self.high.bit_length()))

    def value(self, unit: float) -> int:
        values = self.values
        return values[min(int(unit * len(values)), len(values) - 1)]

    def unit(self, value: float) -> float:
        values = self.values
        return (values.index(self.clip(value)) + 0.5) / len(values)

    def clip(self, value: float) -> int:
        """The nearest power, by its logarithm."""
        inside = min(max(value, self.low), self.high)
        return int(2 ** round(math.log2(inside)))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values, which need not be numbers; `weights` are how likely a random draw is."""

    values: tuple[Any, ...]
    weights: tuple[float, ...] | None = None

    def value(self, unit: float) -> Any:
        reached = 0.0
        for value, share in zip(self.values, self._shares(), strict=True):
            reached += share
            if unit < reached:
                return value
        return self.values[-1]

    def unit(self, value: Any) -> float:
        shares, place = self._shares(), self.values.index(value)
        return sum(shares[:place]) + shares[place] / 2

    def clip(self, value: Any) -> Any:
        """The value if it is one of them, else the nearest number, else the first."""
        if value in self.values:
            return self.values[self.values.index(value)]
        if isinstance(value, (int, float)) and all(isinstance(known, (int, float)) for known in self.values):
            return min(self.values, key=lambda known: abs(known - value))
        return self.values[0]

    def _shares(self) -> list[float]:
        weights = self.weights or (1.0,) * len(self.values)
        return [weight / sum(weights) for weight in weights]


Searched = Range | LogRange | OneMinusLog | Pow2 | Choice
