"""The settings of a config as they are now, and changes of them that keep a schedule's shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymnast.config.schedules import Schedule
from gymnast.config.schema import Config

Changes = dict[str, Any]  # by dotted key, plain data


@dataclass(frozen=True, slots=True)
class Present:
    """One config, to make changes of."""

    config: Config

    def get(self, key: str) -> Any:
        """The value at a dotted key; None where there is none."""
        value: Any = self.config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
        return value

    def number(self, key: str) -> float | None:
        """A number, or where a schedule starts."""
        value = self.get(key)
        if isinstance(value, Schedule):
            return value.start if value.start is not None else value.points[0][1]
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def times(
        self, key: str, factor: float, *, low: float = 0.0, high: float = float("inf"), zero: float = 0.0
    ) -> Changes:
        """The setting multiplied, within bounds; `zero` is what takes the place of 0. Empty: no change."""
        now = self.number(key)
        if now is None:
            return {}
        wanted = rounded(min(max(zero if now == 0 else now * factor, low), high))
        if now and (wanted > now) != (factor > 1):  # it is beyond the bound already
            return {}
        return self.to(key, wanted)

    def to(self, key: str, wanted: float) -> Changes:
        """The setting at a new value; a schedule starts there and keeps its shape."""
        now, value = self.number(key), self.get(key)
        if now is None or now == wanted:
            return {}
        if not isinstance(value, Schedule) or value.kind in ("constant", "points"):
            whole = isinstance(value, int) or key == "algo.n_epochs"
            return {key: round(wanted) if whole else wanted}
        changes: Changes = {f"{key}.start": wanted}
        if value.end and now:  # what does not end at 0 moves as a whole
            changes[f"{key}.end"] = rounded(value.end * wanted / now)
        return changes


def rounded(value: float) -> float:
    """Three digits: nobody needs more, and equal points are seen as equal."""
    return float(f"{value:.3g}")


def towards_one(value: float, factor: float) -> float:
    """0.8 → 0.95 with a factor of ¼: what is left to 1 is multiplied."""
    return float(f"{1 - (1 - value) * factor:.6g}")


def point_of(overrides: Mapping[str, Any]) -> str:
    """The same text for the same settings, whatever their order."""
    return ";".join(f"{key}={overrides[key]!r}" for key in sorted(overrides))
