"""Schedules: how a hyperparameter moves with training progress.

A schedule is a pure function of the counters, never of wall time or of a call count, so a
resumed run continues exactly where it was. A plain number is the constant schedule.
"""

from __future__ import annotations

import bisect
import itertools
import math
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from gymnast.config.values import Section, parse_count


class Schedule(Section):
    """A value over training, in one of the forms `kind` names."""

    model_config = ConfigDict(allow_inf_nan=False)

    kind: Literal["constant", "linear", "cosine", "exponential", "points"] = Field(
        "constant", description="Shape of the curve; `points` interpolates a list."
    )
    start: float | None = Field(None, description="Value at `begin`.")
    end: float | None = Field(None, description="Value at `until`.")
    floor: float | None = Field(None, description="The value never falls below this.")
    begin: float = Field(0.0, ge=0, description="Where it begins to move: a fraction (≤ 1) or env steps.")
    until: float = Field(1.0, ge=0, description="Where it stops moving: a fraction (≤ 1) or env steps.")
    points: tuple[tuple[float, float], ...] = Field(
        (), description="(fraction or env step, value) pairs, in order."
    )
    interpolation: Literal["linear", "step", "cosine"] = Field(
        "linear", description="How `points` are joined; `step` holds each value until the next."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_short_forms(cls, value: Any) -> Any:
        if isinstance(value, bool) or value is None:
            raise ValueError(f"must be a number or a schedule, got {value!r}")
        if isinstance(value, str):
            value = _number(value)
        if isinstance(value, (int, float)):
            return {"kind": "constant", "start": float(value)}
        if isinstance(value, (list, tuple)):
            value = {"points": value}
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if "points" in value:
            value["points"] = _pairs(value["points"])
        # A map with an end can only mean one thing, so `kind` may be left out.
        value.setdefault(
            "kind", "points" if "points" in value else "linear" if "end" in value else "constant"
        )
        for key in ("begin", "until"):
            if isinstance(value.get(key), str):
                value[key] = _position(value[key])
        for key in ("start", "end", "floor"):
            if isinstance(value.get(key), str):
                value[key] = _number(value[key])
        return value

    @model_validator(mode="after")
    def _check(self) -> Schedule:
        if self.kind == "points":
            self._takes_no("start", "end", "begin", "until")
            if not self.points:
                raise ValueError("a points schedule needs at least one [where, value] pair")
            _check_order([at for at, _ in self.points], "points")
            return self
        self._takes_no("points", "interpolation")
        if self.start is None:
            raise ValueError(f"a {self.kind} schedule needs start")
        if self.kind == "constant":
            self._takes_no("end", "begin", "until")
            return self
        if self.end is None:
            raise ValueError(f"a {self.kind} schedule needs end")
        if self.kind == "exponential" and (self.start <= 0 or self.end <= 0):
            raise ValueError("an exponential schedule needs start and end above 0")
        _check_order([self.begin, self.until], "begin and until")
        return self

    def _takes_no(self, *names: str) -> None:
        written = self.model_dump(exclude_defaults=True)
        for name in names:
            if name in written:
                hint = "; write kind: linear" if name == "end" and self.kind == "constant" else ""
                raise ValueError(f"a {self.kind} schedule takes no {name}{hint}")

    def at(self, env_steps: int, total_steps: int) -> float:
        """The value after `env_steps` of a run whose budget is `total_steps`."""
        if self.kind == "constant" and self.floor is None and self.start is not None:
            return self.start  # most settings, at every update
        low, high = self.bounds()
        # Rounding must not carry a discount past 1 or a rate below 0.
        return min(max(self._curve(env_steps, total_steps), low), high)

    def _curve(self, env_steps: int, total_steps: int) -> float:
        if self.kind == "points":
            where = [_as_steps(at, total_steps) for at, _ in self.points]
            # Fractions and steps may be mixed, and only the budget determines their order.
            where = list(itertools.accumulate(where, max))
            return _interpolate(where, [v for _, v in self.points], env_steps, self.interpolation)
        assert self.start is not None
        if self.kind == "constant":
            return self.start
        assert self.end is not None
        begin, until = _as_steps(self.begin, total_steps), _as_steps(self.until, total_steps)
        if env_steps >= until:
            return self.end
        done = max(0.0, (env_steps - begin) / (until - begin)) if until > begin else 0.0
        if self.kind == "linear":
            return self.start * (1 - done) + self.end * done
        if self.kind == "cosine":
            return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * done))
        return self.start * (self.end / self.start) ** done

    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value the schedule can take, to check ranges up front."""
        values = [v for _, v in self.points] or [v for v in (self.start, self.end) if v is not None]
        floor = -math.inf if self.floor is None else self.floor
        return max(min(values), floor), max(*values, floor)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"must be a number or a schedule, got {text!r}") from None


def _position(value: Any) -> Any:
    """Where on the way: '300k' and 3e5 are env steps, '0.3' is a fraction."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return parse_count(value)
    return value


def _pairs(points: Any) -> list[tuple[Any, Any]]:
    wanted = "points must be a list of [where, value] pairs"
    if not isinstance(points, (list, tuple)):
        raise ValueError(wanted)
    pairs = []
    for point in points:
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise ValueError(f"{wanted}, got {point!r}")
        at, value = _position(point[0]), point[1]
        if isinstance(at, (int, float)) and at < 0:
            raise ValueError(f"points lie at 0 or later, got {at:g}")
        pairs.append((at, _number(value) if isinstance(value, str) else value))
    return pairs


def _check_order(where: list[float], what: str) -> None:
    """Positions must rise; a fraction and a step count are not comparable before the budget is known."""
    for earlier, later in itertools.pairwise(where):
        comparable = earlier == 0 or (earlier <= 1) == (later <= 1)
        if comparable and earlier >= later:
            raise ValueError(f"{what} must be in order: {later:g} comes after {earlier:g}")


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
        return _plain(schedule.start)
    return {"kind": schedule.kind} | schedule.model_dump(exclude_defaults=True)


def _plain(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) and abs(value) < 1e15 else value


def scheduled(low: float = -math.inf, high: float = math.inf, *, whole: bool = False) -> Any:
    """A config type: a number or any schedule, whose values all stay within [low, high].

    `whole` is for counts: every number written must be whole (what lies between two of them is for
    the reader to round).
    """

    def check(value: Any) -> Any:
        schedule = value if isinstance(value, Schedule) else Schedule.model_validate(value)
        smallest, largest = schedule.bounds()
        if smallest < low or largest > high:
            got = f"{smallest:g}" if smallest == largest else f"{smallest:g}…{largest:g}"
            raise ValueError(f"must {_range_words(low, high)}, got {got}")
        if whole:
            for number in (schedule.start, schedule.end, schedule.floor, *(v for _, v in schedule.points)):
                if number is not None and number != int(number):
                    raise ValueError(f"must be a whole number, got {number:g}")
        return schedule

    return Annotated[Schedule, BeforeValidator(check), PlainSerializer(_short_form)]


def _range_words(low: float, high: float) -> str:
    if high == math.inf:
        return f"be at least {low:g}"
    if low == -math.inf:
        return f"be at most {high:g}"
    return f"stay within [{low:g}, {high:g}]"


def takes_schedule(annotation: Any) -> bool:
    """Whether a field of this type is a number that may move."""
    return annotation is Schedule or any(takes_schedule(part) for part in get_args(annotation))
