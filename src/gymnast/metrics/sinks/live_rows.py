"""Which metrics have a row in the live table, in which order, and what their alerts say there.

Scores come first, then the groups of the catalogue; in each, what matters most. Where the space is not enough
for all, scores and alerts have it first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnast.metrics.alerts.alert import SEVERITIES, Alert
from gymnast.metrics.sinks.alert_lines import message, tell
from gymnast.metrics.sinks.figures import DROPPED, ONLY_IN_FILES, Figure, Figures
from gymnast.terminal.painter import Style

GROUPS = ("score", "time", "train", "opt", "net", "env", "task", "explore", "eval", "alert")


@dataclass(frozen=True, slots=True)
class Place:
    """A row that is shown: its metric, its worst alert, and what is said in the row and below it."""

    figure: Figure
    group: str  # its name, where the group begins
    gap: bool  # an empty line before it
    alert: Alert | None
    said: str
    below: tuple[tuple[str, Style], ...]


@dataclass(frozen=True, slots=True)
class Rooms:
    """Cells for the text of an alert."""

    in_row: int
    below: int


class Rows:
    """The choice for one frame's size and the alerts of one moment."""

    def __init__(
        self, figures: Figures, alerts: Sequence[Alert], hidden: frozenset[str], height: int, rooms: Rooms
    ) -> None:
        self._figures, self._hidden, self._rooms = figures, hidden, rooms
        self._alerts = sorted(alerts, key=lambda alert: (-SEVERITIES.index(alert.severity), alert.id))
        self._about: dict[str, list[Alert]] = {}
        for alert in self._alerts:
            figures.ensure(_subject(alert))
            self._about.setdefault(_subject(alert), []).append(alert)
        self._below: dict[str, list[tuple[str, Style]]] = {}
        self._in_row: dict[str, str] = {}
        self._chosen: list[str] = []
        self._space = height
        self.left_out = 0  # alerts for which there is no space
        self.places = self._choose()

    def _choose(self) -> list[Place]:
        """Who comes first is shown if there is space: scores, alerts, what matters most, what alerts say …"""
        scores, about = self._figures.scores, self._about
        others = [key for key in self._figures.by_key if self._may_be_shown(key)]
        others.sort(key=lambda key: (self._priority(key), self._figures.by_key[key].position))
        urgent = [key for key, found in about.items() if found[0].severity != "info" and key not in scores]
        calm = [key for key in about if key not in urgent and key not in scores]
        first = [key for key in others if self._priority(key) == 0]
        wanted = [*scores, *urgent, *first, *calm]
        if about.keys() - set(wanted[: self._space]):
            self._space -= 1  # for the line that counts those left out
        self._add(wanted)
        self.left_out = sum(len(found) for key, found in about.items() if key not in self._chosen)
        self._explain([alert for alert in self._alerts if alert.severity != "info"])
        self._add([key for key in others if self._priority(key) == 1])
        self._explain([alert for alert in self._alerts if alert.severity == "info"])
        # … then lines between groups, and last what only a tall terminal shows.
        groups = {self._group(key) for key in self._chosen}
        gaps = self._space >= len(groups) - 1
        self._space -= len(groups) - 1 if gaps else 0
        for key in others:
            cost = 1 + (gaps and self._group(key) not in groups)
            if key not in self._chosen and cost <= self._space:
                self._chosen.append(key)
                groups.add(self._group(key))
                self._space -= cost
        return self._in_order(gaps)

    def _add(self, keys: Sequence[str]) -> None:
        self._chosen += keys[: self._space]
        self._space -= min(self._space, len(keys))

    def _explain(self, alerts: Sequence[Alert]) -> None:
        """Give each alert its lines; if there is no space, the row of its metric has the beginning."""
        for alert in alerts:
            key = _subject(alert)
            worst = alert is self._about[key][0]
            lines = tell(alert, self._rooms.in_row if worst else 0, self._rooms.below)
            fits = key in self._chosen and len(lines.below) <= self._space
            if fits:
                self._space -= len(lines.below)
                self._below.setdefault(key, []).extend(lines.below)
            if worst:
                self._in_row[key] = lines.row if fits else message(alert)

    def _in_order(self, gaps: bool) -> list[Place]:
        places: list[Place] = []
        group = ""
        for key in sorted(self._chosen, key=self._sorted_by):
            begins = self._group(key) != group
            group = self._group(key)
            places.append(
                Place(
                    self._figures.by_key[key],
                    group if begins else "",
                    gap=gaps and begins and bool(places),
                    alert=self._about[key][0] if key in self._about else None,
                    said=self._in_row.get(key, ""),
                    below=tuple(self._below.get(key, ())),
                )
            )
        return places

    def _may_be_shown(self, key: str) -> bool:
        """Beside scores and alerts, which are always."""
        figure = self._figures.by_key[key]
        known = figure.value is not None and figure.spec.priority < ONLY_IN_FILES
        return (
            known and key not in self._hidden and key not in self._about and key not in self._figures.scores
        )

    def _priority(self, key: str) -> int:
        return 0 if key == DROPPED else self._figures.by_key[key].spec.priority

    def _group(self, key: str) -> str:
        if key in self._figures.scores:
            return "score"
        stage = key.partition("/")[0]
        return stage if stage in GROUPS else "alert"

    def _sorted_by(self, key: str) -> tuple[object, ...]:
        group = GROUPS.index(self._group(key))
        if group == 0:
            return group, self._figures.scores.index(key)
        return group, self._priority(key), self._figures.by_key[key].position


def _subject(alert: Alert) -> str:
    """The key of the row that it belongs to."""
    return alert.metric or f"alert/{alert.id}"
