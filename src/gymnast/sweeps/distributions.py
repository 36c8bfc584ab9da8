"""What W&B's sweep files can say beyond the ranges of `config/search.py`. Only a random search draws from the
unbounded ones."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range, Searched


@dataclass(frozen=True, slots=True)
class Quantised:
    """A range of which only multiples of `step` are taken."""

    inner: Range | LogRange
    step: float

    def value(self, unit: float) -> float | int:
        return self.clip(self.inner.value(unit))

    def unit(self, value: float) -> float:
        return self.inner.unit(value)

    def clip(self, value: float) -> float | int:
        step, low, high = self.step, self.inner.low, self.inner.high
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        multiple = min(max(round(value / step), first), last)
        rounded = multiple * step
        return int(rounded) if float(step).is_integer() else float(f"{rounded:.12g}")


@dataclass(frozen=True, slots=True)
class Normal:
    """Normally distributed, or (`log`) with a normally distributed logarithm; a multiple of `step` if any."""

    mu: float
    sigma: float
    log: bool = False
    step: float | None = None

    def value(self, unit: float) -> float:
        drawn = NormalDist(self.mu, self.sigma).inv_cdf(min(max(unit, 1e-9), 1 - 1e-9))
        drawn = math.exp(min(drawn, 700.0)) if self.log else drawn
        return drawn if self.step is None else round(drawn / self.step) * self.step


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta distributed; a multiple of `step` if any."""

    a: float
    b: float
    step: float | None = None

    def value(self, unit: float) -> float:
        drawn = random.Random(unit).betavariate(self.a, self.b)
        return drawn if self.step is None else round(drawn / self.step) * self.step


Dimension = Searched | Quantised | Normal | Beta
UNBOUNDED = (Normal, Beta)
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Range, LogRange, OneMinusLog, Pow2, Choice, Quantised, Normal, Beta)
}


def to_json(dimension: Dimension) -> dict[str, Any]:
    """The dimension as plain data."""
    values = {name: getattr(dimension, name) for name in dimension.__dataclass_fields__}
    if isinstance(dimension, Quantised):
        values["inner"] = to_json(dimension.inner)
    return {"kind": type(dimension).__name__, **values}


def from_json(values: dict[str, Any]) -> Dimension:
    """What `to_json` wrote; raises ValueError, TypeError or KeyError for anything else."""
    kind = _KINDS[values["kind"]]
    rest = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items() if key != "kind"}
    if kind is Quantised:
        rest["inner"] = from_json(values["inner"])
    if kind is Choice:
        rest["values"] = tuple(values["values"])
    made: Dimension = kind(**rest)
    return made


def grid_of(dimension: Dimension) -> tuple[Any, ...] | None:
    """Every value that it can take, in order; None where they cannot be listed."""
    if isinstance(dimension, (Choice, Pow2)):
        return dimension.values
    if isinstance(dimension, Range) and dimension.whole:
        return tuple(range(int(dimension.low), int(dimension.high) + 1))
    if isinstance(dimension, Quantised) and isinstance(dimension.inner, Range):
        step = dimension.step
        first = math.ceil(dimension.inner.low / step - 1e-9)
        last = math.floor(dimension.inner.high / step + 1e-9)
        return tuple(dimension.clip(multiple * step) for multiple in range(first, last + 1))
    return None


def fits(dimension: Dimension, value: Any) -> bool:
    """Whether the value is one that the dimension can take."""
    if isinstance(dimension, UNBOUNDED):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(dimension, Choice):
        return value in dimension.values
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isclose(float(dimension.clip(value)), float(value), rel_tol=1e-9, abs_tol=1e-12)
