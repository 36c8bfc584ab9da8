"""The live view of a run in a terminal: when it is drawn, and what happens around a draw.

Drawn from inside the loop's own calls, without a thread: on a small machine a drawing thread would slow down
the training it shows. Drawing takes at most a hundredth of the time, however slow the terminal is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.catalogue import all_metrics
from gymnast.metrics.sinks.console import NO_ALERTS, Console, Row, RunHeader, on_one_line, summarise
from gymnast.metrics.sinks.figures import SCORE, Figures
from gymnast.metrics.sinks.frame import COLOURS, LONG_WORK_SECONDS, WIDEST, Work, activity, around
from gymnast.metrics.sinks.live_table import Table
from gymnast.metrics.sinks.narrative import Narrator, Scores, narrate
from gymnast.metrics.sinks.phases import Phases
from gymnast.metrics.sinks.sink import Style
from gymnast.terminal.painter import Painter
from gymnast.terminal.painter import Style as Colour

if TYPE_CHECKING:
    from gymnast.training.report import Report
    from gymnast.training.run.outcome import Outcome

DRAW_SECONDS = 0.2  # at least between two draws
RARELY_SECONDS = 5.0  # at most
REST = 100  # so many times as long as a draw took, nothing is drawn
MESSAGE_SECONDS = 5.0
LOOK_SECONDS = 1.0  # so often the sentence is made again
BELOW_LINES = 8  # of the terminal, for what is printed after the last frame
_ENDINGS: dict[str, Colour] = {
    "solved": "good",
    "finished": "bold",
    "interrupted": "warning",
    "failed": "bad",
}


class LiveConsole(Console):
    """A view that redraws itself from `updated`, `evaluating` and `collecting`."""

    def __init__(self, painter: Painter | None = None, keys: str = "") -> None:
        self._painter = painter if painter is not None else Painter()
        self._keys = keys
        self._open = False
        self._header: RunHeader | None = None
        self._row: Row = {}
        self._alerts: Sequence[Alert] = NO_ALERTS
        self._figures = Figures()
        self._table = Table(self._painter, self._figures, None)
        self._scores = Scores()
        self._narrator = Narrator()
        self._sentence = ""
        self._next_look = 0.0
        self._phases = Phases()
        self._shares: dict[str, float] = {}
        self._next_draw = 0.0
        self._work: Work | None = None
        self._long: set[str] = set()  # kinds of work that took long before
        self._message: tuple[str, Style, float] | None = None
        self._paused = False
        self._over = False
        self._drawing = False
        self._waiting: list[tuple[str, Style]] = []

    def started(self, header: RunHeader) -> None:
        all_metrics()  # read here: the first draw would be slow, and the next one late
        self._header = on_one_line(header)
        self._figures = Figures(header.tasks)
        self._table = Table(self._painter, self._figures, header.solved_at)
        for notice in header.notices:
            self._print(notice, "info")
        self.resume()

    def take(self, report: Report) -> None:
        self._phases.add(report.timing)
        self.updated(report.row, report.alerts)

    def updated(self, row: Row, alerts: Sequence[Alert] = NO_ALERTS) -> None:
        self._row = row
        self._alerts = alerts
        self._work = None
        self._figures.take(row)
        self._scores.take(row)
        if time.monotonic() >= self._next_draw:
            self._draw()

    def evaluating(self, done: int, total: int) -> None:
        self._working("evaluating", done, total, "episodes")

    def collecting(self, done: int, total: int) -> None:
        self._working("collecting", done, total, "steps")

    def note(self, text: str, style: Style = "info") -> None:
        """Transient notes stay a few seconds in the frame; what matters later is printed above it."""
        if style in ("info", "good") and self._open and "\n" not in text:
            self._message = (text, style, time.monotonic() + MESSAGE_SECONDS)
            self._draw()
        else:
            self._print(text, style)

    def paused(self, flag: bool) -> None:
        self._paused = flag
        self._draw()

    def finished(self, outcome: Outcome) -> None:
        self._work = self._message = None
        self._paused = False
        self._over = True
        self._draw()
        self.close()
        self._drawing = True
        self._painter.above(summarise(outcome), _ENDINGS[outcome.status])
        self._drawing = False

    def suspend(self) -> None:
        """Leave the terminal as a shell wants it; in the middle of a draw that would garble the frame."""
        if not self._drawing:
            self.close()

    def resume(self) -> None:
        """A new frame below whatever was printed meanwhile."""
        if self._header is None:
            return
        if self._open:
            self._painter.forget()
        self._open = True
        self._draw()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._painter.leave()

    def _working(self, what: str, done: int, total: int, unit: str) -> None:
        now = time.monotonic()
        work = self._work
        if work is None or work.what != what or done < work.done:
            work = self._work = Work(what, unit, now)
        work.done, work.total = done, total
        if done >= total and now - work.since < LONG_WORK_SECONDS:
            self._long.discard(what)
        if now >= self._next_draw:
            self._draw()

    def _print(self, text: str, style: Style) -> None:
        """Print above the frame. What a signal handler prints in the middle of a draw waits for its end."""
        self._waiting.append((text, style))
        if self._drawing:
            return
        self._drawing = True
        try:
            while self._waiting:
                text, style = self._waiting.pop(0)
                prefix = f"{style}: " if style in ("warning", "error") else ""
                self._painter.above(prefix + text, COLOURS[style])
        finally:
            self._drawing = False

    def _draw(self) -> None:
        if not self._open or self._drawing:
            return
        began = time.perf_counter()
        self._drawing = True
        try:
            self._painter.show(self._frame())
        finally:
            self._drawing = False
        rest = REST * (time.perf_counter() - began)
        self._next_draw = time.monotonic() + min(RARELY_SECONDS, max(DRAW_SECONDS, rest))
        if self._waiting:
            self._print(*self._waiting.pop(0))

    def _frame(self) -> list[str]:
        """All lines, in the terminal's size: one column and one line stay free, so that nothing scrolls."""
        assert self._header is not None
        columns, lines = self._painter.size()
        width, now = min(columns - 1, WIDEST), time.monotonic()
        for alert in self._alerts:
            if alert.metric:  # its value is shown, whatever its priority
                self._figures.ensure(alert.metric)
        if new := self._figures.fold(self._row, now):
            self._shares = self._phases.shares(self._row.get("time/seconds"))
        self._look(now)
        height = lines - (BELOW_LINES if self._over else 1)
        outside = around(
            self._painter,
            self._header,
            self._row,
            size=(width, lines if not self._over else height),
            sentence=self._sentence,
            activity=activity(
                self._painter, width, now, self._long_work(now), self._fresh_message(now), self._paused
            ),
            shares=self._shares,
            keys="" if self._over else self._keys,
            over=self._over,
        )
        room = max(0, height - len(outside))
        table = self._table.lines(self._row, self._alerts, width, room, now, same=not new)
        return [*outside.top, *table, *outside.bottom][: max(1, lines - 1)]

    def _look(self, now: float) -> None:
        """Make the sentence again, if it is time."""
        header = self._header
        if header is None or (now < self._next_look and not self._over):
            return
        self._next_look = now + LOOK_SECONDS
        seen = narrate(
            self._scores.points,
            threshold=header.solved_at,
            best=self._row.get("eval/best"),
            evaluated=self._figures.by_key[SCORE].value,
            budget=header.budget_env_steps,
            over=self._over,
        )
        self._sentence = seen.text if self._over else self._narrator.look(seen)

    def _long_work(self, now: float) -> Work | None:
        work = self._work
        if work is None:
            return None
        if now - work.since >= LONG_WORK_SECONDS:
            self._long.add(work.what)
        return work if work.what in self._long else None

    def _fresh_message(self, now: float) -> tuple[str, Style] | None:
        if self._message is None:
            return None
        text, style, until = self._message
        if now >= until:
            self._message = None
            return None
        return text, style
