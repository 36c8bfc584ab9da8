"""A sweep while it is worked on: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from gymnast.cli.sweep_tables import shown_value, status_lines
from gymnast.metrics.sinks.console import duration, short
from gymnast.terminal.painter import Line, Painter, Style
from gymnast.terminal.text import echo

if TYPE_CHECKING:
    from gymnast.api import Sweep

_DRAW_SECONDS = 0.5
_WEIGH_SECONDS = 15.0  # between two computations of the importances
_LINE_SECONDS = 10.0  # between two plain lines, unless a trial leads that did not before
_SHOWN = 8  # trials of the front
_BAR = 20
_COLOURS: dict[str, Style] = {"failed": "bad", "pruned": "warning", "paused": "warning", "running": "bar"}


class View(Protocol):
    """Shows a sweep."""

    def show(self, sweep: Sweep) -> None: ...

    def close(self) -> None: ...


def build_view(*, plain: bool, silent: bool) -> View:
    if silent:
        return Silent()
    return LiveView(Painter()) if sys.stdout.isatty() and not plain else PlainView()


class Silent:
    """Shows nothing."""

    def show(self, sweep: Sweep) -> None:
        return None

    def close(self) -> None:
        return None


class PlainView:
    """A line when something new is known."""

    def __init__(self) -> None:
        self._best: int | None = None
        self._stage = ""
        self._said = 0.0

    def show(self, sweep: Sweep) -> None:
        state, now = sweep.state, time.monotonic()
        best = state.best()
        leads = None if best is None else best.number
        if state.stage == self._stage and leads == self._best and now - self._said < _LINE_SECONDS:
            return
        self._stage, self._best, self._said = state.stage, leads, now
        value = "" if best is None or best.value is None else f", best {best.value:.4g} (trial {best.number})"
        left = sweep.seconds_left()
        eta = "" if left is None else f", about {duration(left)} left"
        echo(
            f"{state.id} {state.stage}: {len(state.trials)}/{state.plan.trials} trials, "
            f"{state.count('finished')} finished, {state.count('pruned', 'paused')} given up, "
            f"{state.count('failed')} failed{value}{eta}"
        )

    def close(self) -> None:
        return None


class LiveView:
    """A frame that is painted again twice a second."""

    def __init__(self, painter: Painter) -> None:
        self._painter = painter
        self._drawn = 0.0
        self._weighed = 0.0
        self._weights: dict[str, float] = {}

    def show(self, sweep: Sweep) -> None:
        now = time.monotonic()
        if now - self._drawn < _DRAW_SECONDS:
            return
        self._drawn = now
        if now - self._weighed > _WEIGH_SECONDS and sweep.state.count("finished") >= 8:
            self._weights = sweep.importances()
            self._weighed = time.monotonic()
        columns, rows = self._painter.size()
        self._painter.show(self.lines(sweep, columns - 1, rows - 2))

    def close(self) -> None:
        self._painter.leave()

    def lines(self, sweep: Sweep, width: int, height: int) -> list[str]:
        """The frame: how far, the front, what is being trained, what matters."""
        state = sweep.state
        head, counts, *_ = status_lines(sweep.to_json())
        lines = [self._line(width, head, "bold"), self._line(width, counts), self._progress(sweep, width), ""]
        ranked = state.ranked()[:_SHOWN]
        keys = self._keys(sweep, width)
        lines.append(str(self._row(width, ["trial", state.plan.objective.name, *map(_short, keys)], "bold")))
        for trial in ranked:
            lines.append(
                str(self._row(width, self._cells(sweep, trial, keys), _COLOURS.get(trial.status, "plain")))
            )
        running = [(trial, run) for trial, run in state.runs() if run.status == "running"]
        if running:
            lines += ["", self._line(width, "being trained", "bold")]
        for trial, run in running:
            share = min(1.0, run.env_steps / state.plan.budget) if state.plan.budget else 0.0
            bar = "█" * round(share * _BAR)
            steps = short(run.env_steps)
            text = f"trial {trial.number:<4} seed {run.seed:<7} {bar:<{_BAR}} {steps} steps"
            lines.append(self._line(width, text, "bar"))
        if self._weights:
            lines += ["", self._line(width, "importance of settings", "bold")]
            largest = max(self._weights.values()) or 1.0
            for key, weight in list(self._weights.items())[:6]:
                bar = "█" * round(weight / largest * _BAR)
                lines.append(self._line(width, f"{_short(key):<16} {bar:<{_BAR}} {weight:.0%}"))
        return lines[: max(4, height)]

    def _progress(self, sweep: Sweep, width: int) -> str:
        state = sweep.state
        ended = sum(run.status in ("finished", "pruned", "failed", "paused") for _, run in state.runs())
        share = ended / max(1, ended + sweep.runs_left())
        room = max(10, min(60, width - 20))
        return self._line(width, f"{'█' * round(share * room):<{room}} {share:.0%} {state.stage}", "bar")

    def _keys(self, sweep: Sweep, width: int) -> list[str]:
        """Settings that there is room for, the most important first."""
        keys = list(sweep.state.plan.space.dimensions)
        keys.sort(key=lambda key: -self._weights.get(key, 0.0))
        return keys[: max(1, (width - 26) // 13)]

    def _cells(self, sweep: Sweep, trial: Any, keys: list[str]) -> list[str]:
        own = sweep.state.values_of(trial)
        name = f"{trial.number}{'*' if trial.origin == 'baseline' else ''}"
        value = "–" if trial.value is None else f"{trial.value:.4g}"
        return [name, value, *(shown_value(own.get(key)) for key in keys)]

    def _row(self, width: int, cells: list[str], style: Style) -> Line:
        line = self._painter.line(width)
        first, second, *rest = cells
        line.add(f"{first[:6]:<7}{second[:17]:>17}", style)
        for cell in rest:
            line.add(f"{cell[:12]:>13}", style)
        return line

    def _line(self, width: int, text: str, style: Style = "plain") -> str:
        return str(self._painter.line(width).add(text, style))


def _short(key: str) -> str:
    return key.removeprefix("algo.").removesuffix(".start")
