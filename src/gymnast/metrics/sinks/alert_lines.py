"""The text of an alert in the live table: in the row of its metric where it fits, and in lines below it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from gymnast.metrics.alerts.alert import Alert, Severity
from gymnast.metrics.alerts.facts import either, pieces
from gymnast.terminal.painter import Style

MARKS: dict[Severity, tuple[str, Style]] = {
    "info": ("i", "plain"),  # cyan is hard to read on white
    "warning": ("⚠", "warning"),
    "critical": ("✖", "bad"),
}
MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class Told:
    """What is said about an alert, and where."""

    row: str  # nothing: all of it is below
    below: tuple[tuple[str, Style], ...]


def tell(alert: Alert, in_row: int, below: int) -> Told:
    """So many cells are free in the row of its metric, and so many in a line below it. Of several proposals,
    the first ones are left."""
    said, style = message(alert), MARKS[alert.severity][1]
    if len(said) <= in_row:
        advice = _proposals(alert, in_row - len(said) - 1)
        if advice is not None:
            return Told(f"{said} {advice}".rstrip(), ())
        lines = _broken(_proposals(alert, below - 2) or _proposals(alert, 10**6) or "", below - 2)
        return Told(said, tuple((f"  {line}", "plain") for line in lines))
    short = next(
        (lines for n in (3, 2, 1) if len(lines := _broken(f"{said} {_advice(alert, n)}", below)) <= 2),
        _broken(f"{said} {_advice(alert, 1)}", below),
    )
    return Told("", tuple((line, style) for line in short))


def message(alert: Alert) -> str:
    return f"{MARKS[alert.severity][0]} {alert.message}"


def _advice(alert: Alert, count: int) -> str:
    return f"→ {either(*pieces(alert.advice)[:count])}" if alert.advice else ""


def _proposals(alert: Alert, room: int) -> str | None:
    """As many as fit; None if not even one does."""
    return next((text for n in (3, 2, 1) if len(text := _advice(alert, n)) <= room), None)


def _broken(text: str, width: int) -> list[str]:
    return wrap(text, max(20, width), subsequent_indent="  ", max_lines=MOST_LINES, placeholder=" …")
