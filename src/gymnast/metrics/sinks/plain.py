"""Plain lines: what a run shows in pipes, files and CI, and on a terminal with `--plain`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.sinks.console import (
    NO_ALERTS,
    REWARDED,
    Console,
    Row,
    RunHeader,
    clock,
    describe,
    is_shaped,
    number,
    on_one_line,
    seconds_left,
    short,
    summarise,
)
from gymnast.metrics.sinks.narrative import SCORED, Scores, narrate
from gymnast.metrics.sinks.sink import Style
from gymnast.processes import output
from gymnast.terminal.text import escaped

if TYPE_CHECKING:
    from gymnast.training.run.outcome import Outcome

PLAIN_SECONDS = 5.0
SENTENCE_SECONDS = 30.0  # the same sentence with other numbers is printed this often
ALERT_SECONDS = 60.0  # an alert that comes and goes is printed once in this time


class PlainConsole(Console):
    """One line every few seconds and at each evaluation, without colours."""

    def __init__(self, stream: TextIO | None = None, seconds: float = PLAIN_SECONDS) -> None:
        self._stream = stream if stream is not None else output.stdout()
        self._seconds = seconds
        self._next = 0.0
        self._row: Row = {}
        self._shown: Row = self._row
        self._evaluation: float | None = None
        self._best: float | None = None
        self._header: RunHeader | None = None
        self._tasks: tuple[str, ...] = ()
        self._scores = Scores()
        self._kind = ""  # of the last sentence
        self._next_sentence = 0.0
        self._alerts = _PrintedAlerts()
        self._writing = False
        self._waiting: list[str] = []

    def started(self, header: RunHeader) -> None:
        self._next = time.monotonic() + self._seconds
        self._tasks = header.tasks
        self._header = header = on_one_line(header)
        self._line(f"{header.name}: {describe(header)}")
        self._line(f"run {header.run_id} in {header.path}")
        for notice in header.notices:
            self._line(f"note: {notice}")

    def updated(self, row: Row, alerts: Sequence[Alert] = NO_ALERTS) -> None:
        self._row = row
        self._scores.take(row)
        if alerts or self._alerts.active:
            for line in self._alerts.changes(alerts, time.monotonic()):
                self._line(line)
        if row.get("eval/return/mean") is not None:
            self._progress()
            self._narrate()
        elif time.monotonic() >= self._next:
            self._progress()

    def evaluating(self, done: int, total: int) -> None:
        self._meanwhile("evaluating", done, total, "episodes")

    def collecting(self, done: int, total: int) -> None:
        self._meanwhile("collecting", done, total, "steps")

    def note(self, text: str, style: Style = "info") -> None:
        self._line(f"{style}: {text}" if style in ("warning", "error") else text)

    def paused(self, flag: bool) -> None:
        self._line("paused: press p to continue" if flag else "training continues")

    def finished(self, outcome: Outcome) -> None:
        if self._row is not self._shown:
            self._progress()
        self._line(summarise(outcome))

    def _progress(self) -> None:
        self._next = time.monotonic() + self._seconds
        row = self._shown = self._row
        evaluation, best = row.get("eval/return/mean"), row.get("eval/best")
        self._evaluation = self._evaluation if evaluation is None else evaluation
        self._best = self._best if best is None else best
        steps = row.get("time/env_steps") or 0
        progress = row.get("time/progress")
        parts = [f"{progress:4.0%}"] if progress is not None else []
        parts.append(f"{short(steps)} steps")
        for label, key, value in (
            ("return", SCORED, row.get(SCORED)),
            ("shaped", REWARDED, row.get(REWARDED) if is_shaped(row) else None),
            ("eval", "eval/return/mean", self._evaluation),
            ("best", "eval/best", self._best),
            ("KL", "train/kl", row.get("train/kl")),
            ("entropy", "train/entropy", row.get("train/entropy")),
        ):
            if value is not None:
                parts.append(f"{label} {number(key, value)}")
        scores = {name: row.get(f"eval/task/{name}/return/mean") for name in self._tasks}
        known = [f"{escaped(name)} {number('eval/best', x)}" for name, x in scores.items() if x is not None]
        if known:
            parts.append(f"({', '.join(known)})")
        fps = row.get("time/fps")
        if fps:
            parts.append(f"{short(fps)}/s")
        seconds = row.get("time/seconds")
        if seconds is not None:
            parts.append(clock(seconds))
        left = seconds_left(row, self._header.budget_seconds if self._header is not None else None)
        if left is not None and left >= 1:
            parts.append(f"{clock(left)} left")
        if dropped := row.get("time/tracker_dropped"):
            parts.append(f"trackers dropped {dropped:,.0f} rows")
        self._line("  ".join(parts))

    def _narrate(self) -> None:
        """What the scores say, if that is something new."""
        header = self._header
        sentence = narrate(
            self._scores.points,
            threshold=header.solved_at if header is not None else None,
            best=self._best,
            evaluated=self._evaluation,
            budget=header.budget_env_steps if header is not None else None,
        )
        if sentence.kind != self._kind or time.monotonic() >= self._next_sentence:
            self._kind, self._next_sentence = sentence.kind, time.monotonic() + SENTENCE_SECONDS
            self._line(f"      {sentence.text}")

    def _meanwhile(self, what: str, done: int, total: int, unit: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            self._line(f"{what} {done:,}/{total:,} {unit}")

    def _line(self, text: str) -> None:
        """A signal handler may print in the middle of a write, where Python forbids another one."""
        self._waiting.append(text)
        if self._writing:
            return
        self._writing = True
        try:
            while self._waiting:
                self._stream.write(escaped(self._waiting.pop(0), lines=True) + "\n")
            self._stream.flush()
        except OSError:  # no reader any more (a closed pipe, a lost terminal): keep training
            self._stream = Path(os.devnull).open("w")  # noqa: SIM115  - stays open as long as the console
        finally:
            self._writing = False


class _PrintedAlerts:
    """Which alerts were printed: each when it is raised and when it is over, at most once per minute."""

    def __init__(self) -> None:
        self.active: dict[str, str] = {}  # those whose line is the last one about them: id to severity
        self._printed: dict[str, float] = {}  # when something was last printed about it

    def changes(self, alerts: Sequence[Alert], now: float) -> list[str]:
        """The lines that are due."""
        lines = []
        for alert in alerts:
            worse = self.active.get(alert.id) != alert.severity
            if worse and (alert.id in self.active or self._is_due(alert.id, now)):
                self.active[alert.id], self._printed[alert.id] = alert.severity, now
                advice = f" → {alert.advice}" if alert.advice else ""
                lines.append(f"alert ({alert.severity}) {alert.id}: {alert.message}{advice}")
        gone = self.active.keys() - {alert.id for alert in alerts}
        for name in sorted(gone):
            if self._is_due(name, now):
                del self.active[name]
                self._printed[name] = now
                lines.append(f"alert over: {name}")
        return lines

    def _is_due(self, name: str, now: float) -> bool:
        return now - self._printed.get(name, -ALERT_SECONDS) >= ALERT_SECONDS
