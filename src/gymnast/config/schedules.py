"""Schedules: how a hyperparameter moves with training progress.

A schedule is a pure function of the counters, never of wall time or of a call count, so a
resumed run continues exactly where it stood. A plain number is the constant schedule.
"""

from __future__ import annotations

import bisect
import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from gymnast.config.values import Section, parse_count


class Schedule(Section):
    """A value over training, in one of the forms `kind` names."""

    kind: Literal["constant", "linear", "cosine", "exponential", "points"] = Field(
        "constant", description="Shape of the curve; `points` interpolates a list."
    )
    start: float | None = Field(None, description="Value at `begin`.")
    end: float | None = Field(None, description="Value at `until`.")
    floor: float | None = Field(None, description="The value never falls below this.")
    begin: float = Field(0.0, description="Where it begins to move: a fraction (≤ 1) or env steps.")
    until: float = Field(1.0, description="Where it stops moving: a fraction (≤ 1) or env steps.")
    points: tuple[tuple[float, float], ...] = Field(
        (), description="(fraction or env step, value) pairs, in order."
    )
    interpolation: Literal["linear", "step", "cosine"] = Field(
        "linear", description="How `points` are joined; `step` holds each value until the next."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):  # numbers as text reach here from YAML 1.1-style `1e-3`
            value = float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return {"kind": "constant", "start": float(value)}
        if isinstance(value, (list, tuple)):
            return {"kind": "points", "points": value}
        if isinstance(value, dict):
            value = dict(value)
            if "points" in value:
                value.setdefault("kind", "points")
                value["points"] = [
                    (parse_count(at) if isinstance(at, str) else at, v) for at, v in value["points"]
                ]
            for key in ("begin", "until"):
                if isinstance(value.get(key), str):
                    value[key] = parse_count(value[key])
        return value

    @model_validator(mode="after")
    def _check(self) -> Schedule:
        if self.kind == "points":
            if not self.points:
                raise ValueError("a `points` schedule needs at least one (where, value) pair")
            return self
        if self.start is None:
            raise ValueError(f"a {self.kind} schedule needs `start`")
        if self.kind != "constant" and self.end is None:
            raise ValueError(f"a {self.kind} schedule needs `end`")
        if self.kind == "exponential" and (self.start <= 0 or (self.end or 0) <= 0):
            raise ValueError("an exponential schedule needs `start` and `end` above 0")
        return self

    def at(self, env_steps: int, total_steps: int) -> float:
        """The value after `env_steps` of a run whose budget is `total_steps`."""
        value = self._curve(env_steps, total_steps)
        return value if self.floor is None else max(value, self.floor)

    def _curve(self, env_steps: int, total_steps: int) -> float:
        if self.kind == "points":
            where = [_as_steps(at, total_steps) for at, _ in self.points]
            return _interpolate(where, [v for _, v in self.points], env_steps, self.interpolation)
        assert self.start is not None
        if self.kind == "constant":
            return self.start
        assert self.end is not None
        begin, until = _as_steps(self.begin, total_steps), _as_steps(self.until, total_steps)
        done = min(1.0, max(0.0, (env_steps - begin) / max(until - begin, 1e-9)))
        if self.kind == "linear":
            return self.start + (self.end - self.start) * done
        if self.kind == "cosine":
            return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * done))
        return self.start * (self.end / self.start) ** done

    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value the schedule can take, to check ranges up front."""
        values = [v for _, v in self.points] or [v for v in (self.start, self.end) if v is not None]
        floor = -math.inf if self.floor is None else self.floor
        return max(min(values), floor), max(max(values), floor)


def _as_steps(where: float, total_steps: int) -> float:
    """A position of at most 1 is a fraction of the budget, anything larger is env steps."""
    return where * total_steps if where <= 1.0 else where


def _interpolate(where: list[float], values: list[float], x: float, how: str) -> float:
    right = bisect.bisect_right(where, x)
    if right == 0:
        return values[0]
    if right == len(where) or how == "step":
        return values[right - 1]
    done = (x - where[right - 1]) / (where[right] - where[right - 1])
    if how == "cosine":
        done = 0.5 * (1 - math.cos(math.pi * done))
    return values[right - 1] + (values[right] - values[right - 1]) * done


def _short_form(schedule: Schedule) -> Any:
    """A constant prints as its number, anything else as the keys that were set."""
    if schedule.kind == "constant" and schedule.floor is None:
        return schedule.start
    return schedule.model_dump(exclude_defaults=True) | {"kind": schedule.kind}


def scheduled(low: float = -math.inf, high: float = math.inf) -> Any:
    """A config type: a number or any schedule, whose values all stay within [low, high]."""

    def check(value: Any) -> Any:
        schedule = value if isinstance(value, Schedule) else Schedule.model_validate(value)
        smallest, largest = schedule.bounds()
        if smallest < low or largest > high:
            raise ValueError(f"must stay within [{low:g}, {high:g}], got {smallest:g}…{largest:g}")
        return schedule

    return Annotated[Schedule, BeforeValidator(check), PlainSerializer(_short_form)]
