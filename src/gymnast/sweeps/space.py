"""The settings that a sweep changes: each with the values that it may take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnast.errors import GymnastError
from gymnast.sweeps.distributions import UNBOUNDED, Beta, Dimension, Normal, fits, from_json, grid_of, to_json

MOST_GRID = 1_000_000  # points

Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Space:
    """Dimensions by dotted key, and settings that are the same in all trials."""

    dimensions: dict[str, Dimension]
    constants: dict[str, Any] = field(default_factory=dict)

    def draw(self, *seed: int) -> Point:
        """A random point, always the same for the same seed."""
        units = np.random.default_rng(seed).random(len(self.dimensions)).tolist()
        return {
            key: dimension.value(unit)
            for (key, dimension), unit in zip(self.dimensions.items(), units, strict=True)
        }

    def grid(self) -> Iterator[Point]:
        """Every point, the last setting changing fastest."""
        axes = [grid_of(dimension) or () for dimension in self.dimensions.values()]
        for values in itertools.product(*axes):
            yield dict(zip(self.dimensions, values, strict=True))

    def grid_size(self) -> int:
        """How many points a grid has; raises GymnastError where it cannot be one."""
        size = 1
        for key, dimension in self.dimensions.items():
            values = grid_of(dimension)
            if values is None:
                raise GymnastError(
                    f"parameters.{key}: a grid needs a list of values, not a range; write values: […], "
                    "or use method: random or bayes"
                )
            size *= len(values)
        if size > MOST_GRID:
            raise GymnastError(f"the grid has {size:,} points; use method: random or bayes")
        return size

    def fits(self, point: Mapping[str, Any]) -> bool:
        """Whether a point has a value of every dimension, inside it."""
        return all(key in point and fits(dim, point[key]) for key, dim in self.dimensions.items())

    def clipped(self, point: Mapping[str, Any]) -> Point | None:
        """The nearest point of the space; None where a value is missing or of another kind."""
        inside: Point = {}
        for key, dimension in self.dimensions.items():
            value: Any = point.get(key)
            if isinstance(dimension, (Normal, Beta)):
                inside[key] = value
            elif key not in point or not _comparable(dimension, value):
                return None
            else:
                inside[key] = dimension.clip(value)
        return inside

    def unbounded(self) -> list[str]:
        """Dimensions that only a random search can draw from."""
        return [key for key, dimension in self.dimensions.items() if isinstance(dimension, UNBOUNDED)]

    def to_json(self) -> dict[str, Any]:
        return {
            "dimensions": {key: to_json(dimension) for key, dimension in self.dimensions.items()},
            "constants": self.constants,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Space:
        dimensions = {key: from_json(value) for key, value in values["dimensions"].items()}
        return cls(dimensions, dict(values["constants"]))


def _comparable(dimension: Dimension, value: Any) -> bool:
    if fits(dimension, value):
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
