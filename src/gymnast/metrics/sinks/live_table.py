"""The table of the live view, as lines of fixed columns: label, value, change, history, and alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.alert_lines import MARKS
from gymnast.metrics.sinks.console import REWARDED, Row, is_shaped
from gymnast.metrics.sinks.figures import BEST, DROPPED, STEADY, Figure, Figures
from gymnast.metrics.sinks.live_rows import Place, Rooms, Rows
from gymnast.metrics.sinks.narrative import figure as spoken
from gymnast.metrics.sinks.sparkline import sparkline
from gymnast.terminal.painter import Line, Painter, Style

WIDEST_SPARKLINE = 40
SAME_SECONDS = 1.0  # a new score stops standing out without any other change


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths of the columns, the space before each included."""

    width: int
    group: int
    label: int
    value: int
    change: int
    rest: int  # sparkline or alert, after two spaces

    @classmethod
    def within(cls, width: int) -> Columns:
        group = 8 if width >= 52 else 0
        label = 18 if width >= 76 else 17
        change = 11 if width >= 44 else 0
        return cls(width, group, label, 11, change, max(0, width - group - label - 11 - change - 2))


class Table:
    """The rows of one run. What is shown is chosen again only if something was added or the space changed."""

    def __init__(self, painter: Painter, figures: Figures, solved_at: float | None) -> None:
        self._painter = painter
        self._figures = figures
        self._solved_at = solved_at
        self._rows: Rows | None = None
        self._chosen_for: tuple[object, ...] = ()
        self._lines: list[str] = []
        self._lines_until = 0.0

    def lines(
        self, row: Row, alerts: Sequence[Alert], width: int, height: int, now: float, *, same: bool = False
    ) -> list[str]:
        """As many lines as there is space for, the most important ones. `same`: nothing new is known since
        the last call."""
        shown = tuple((alert.id, alert.severity, alert.message, alert.advice) for alert in alerts)
        hidden = _hidden(row)
        wanted = (shown, width, height, hidden, sum(figure.value is not None for figure in self._figures))
        if same and wanted == self._chosen_for and now < self._lines_until:
            return self._lines
        columns = Columns.within(width)
        if self._rows is None or wanted != self._chosen_for:
            rooms = Rooms(in_row=columns.change + columns.rest, below=width - columns.group)
            self._rows = Rows(self._figures, alerts, hidden, height, rooms)
            self._chosen_for = wanted
        lines = []
        for place in self._rows.places:
            if place.gap:
                lines.append("")
            lines.append(self._line(place, columns, now))
            for text, style in place.below:
                lines.append(str(self._painter.line(width).add(" " * columns.group).add(text, style)))
        if self._rows.left_out:
            text = f"{self._rows.left_out} more alert{'s' if self._rows.left_out > 1 else ''}"
            lines.append(str(self._painter.line(width).add(text, "warning")))
        self._lines, self._lines_until = lines, now + SAME_SECONDS
        return lines

    def _line(self, place: Place, columns: Columns, now: float) -> str:
        figure, alert = place.figure, place.alert
        line = self._painter.line(columns.width)
        style: Style = MARKS[alert.severity][1] if alert is not None else "plain"
        line.add(f"{place.group:<{columns.group}}"[: columns.group])
        line.add(f"{_cut(figure.label, columns.label - 1):<{columns.label}}", style)
        change = figure.change
        tone = _tone(figure, change)
        if figure.value is None:
            line.add(f"{'–':>{columns.value}}")
        else:
            text = f"{_fitting(figure, figure.value, columns.value - 1):>{columns.value}}"
            finite = figure.value - figure.value == 0
            line.add(text, "bad" if not finite else tone if figure.is_fresh(now) and change else "bold")
        if place.said:
            return str(line.add("  ").add(place.said, style))
        shown = _fitting(figure, abs(change), columns.change - 2)
        if shown.strip("0.,") == "" or figure.key in STEADY:
            line.add(" " * columns.change)
        elif columns.change:
            line.add(f"{('+' if change > 0 else '−') + shown:>{columns.change}}", tone)
        line.add("  ")
        if figure.key == BEST:
            self._goal(figure, line)
        elif figure.key not in COUNTERS:
            line.add(sparkline(figure.history.points, min(WIDEST_SPARKLINE, line.room)), "bar")
        return str(line)

    def _goal(self, figure: Figure, line: Line) -> None:
        """Beside the best score: the one that solves the task."""
        if self._solved_at is None:
            return
        reached = figure.value is not None and figure.value >= self._solved_at
        text = f"solved at {spoken(self._solved_at)}"
        text = text if len(text) <= line.room else f"goal {spoken(self._solved_at)}"
        line.add(text, "good" if reached else "plain")


def _hidden(row: Row) -> frozenset[str]:
    """What would only repeat another row, or say that nothing is wrong."""
    hidden = set() if row.get(DROPPED) else {DROPPED}
    return frozenset(hidden if is_shaped(row) else hidden | {REWARDED})


def _tone(figure: Figure, change: float) -> Style:
    """Green or red where the catalogue knows which way is better."""
    better = figure.spec.better
    if better is None or not change:
        return "plain"
    return "good" if (change > 0) == (better == "higher") else "bad"


def _fitting(figure: Figure, value: float, room: int) -> str:
    text = f"{value:z,.{figure.spec.precision}f}"
    return text if len(text) <= room else f"{value:.4g}"


def _cut(label: str, room: int) -> str:
    return label if len(label) <= room else label[: room - 1] + "…"
