"""What the terminal shows while a run trains: live, in plain lines, or nothing.

The loop calls a console after every update, hundreds of times per second, so a call that draws nothing costs
a few microseconds. Rich is imported by the live view alone: plain and quiet runs start without it.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gymnast.metrics.catalogue import spec
from gymnast.metrics.sinks.sink import Sink, Style
from gymnast.processes import output
from gymnast.terminal.text import echo, escaped

if TYPE_CHECKING:
    from gymnast.training.report import Report
    from gymnast.training.run.outcome import Outcome

Row = Mapping[str, float | int | bool | None]
NO_ALERTS: Mapping[str, str] = {}
PLAIN_SECONDS = 5.0
SCORED = "train/return_plain/mean"  # of the env's own rewards, as in evaluations
REWARDED = "train/return/mean"  # of the learner's rewards: clipped or shaped


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What is known before the first update."""

    run_id: str
    path: str
    name: str
    env_id: str
    algo: str
    engine: str
    backend: str
    n_envs: int
    parameters: int
    budget: str
    budget_env_steps: int | None = None
    budget_seconds: float | None = None
    solved_at: float | None = None
    notices: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()  # of a mix


class Console(Sink):
    """A sink that also shows progress within an update; methods return at once if nothing is to be drawn."""

    def take(self, report: Report) -> None:
        self.updated(report.row, dict(report.alerts) if report.alerts else NO_ALERTS)

    def updated(self, row: Row, alerts: Mapping[str, str] = NO_ALERTS) -> None:
        """The metrics of an update, and alerts by metric key."""

    def evaluating(self, done: int, total: int) -> None:
        """So many episodes of an evaluation are done."""

    def collecting(self, done: int, total: int) -> None:
        """So many steps of a rollout are done."""

    def suspend(self) -> None:
        """The process is about to be stopped by the shell."""

    def resume(self) -> None:
        """The process continues in the foreground."""


def build_console(quiet: bool = False, json: bool = False, keys: str = "") -> Console:
    """The live view on a terminal, plain lines elsewhere; nothing on stdout when it is asked to be quiet.

    `keys` is the footer of the live view: what can be pressed, or nothing where no key can arrive.
    """
    if quiet or json:
        return QuietConsole()
    stdout = output.stdout()
    encoding = (stdout.encoding or "ascii").lower().replace("-", "")
    if stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb") and encoding == "utf8":
        from gymnast.metrics.sinks.live import LiveConsole

        return LiveConsole(keys=keys)
    return PlainConsole()


class QuietConsole(Console):
    """Shows nothing; only warnings and errors go to stderr."""

    def note(self, text: str, style: Style = "info") -> None:
        if style in ("warning", "error"):
            echo(f"{style}: {text}", err=True)


class PlainConsole(Console):
    """One line every few seconds and at each evaluation, without colours: for pipes, files and CI."""

    def __init__(self, stream: TextIO | None = None, seconds: float = PLAIN_SECONDS) -> None:
        self._stream = stream if stream is not None else output.stdout()
        self._seconds = seconds
        self._next = 0.0
        self._row: Row = {}
        self._shown: Row = self._row
        self._evaluation: float | None = None
        self._best: float | None = None
        self._tasks: tuple[str, ...] = ()
        self._wall_time: float | None = None
        self._reported: set[str] = set()
        self._writing = False
        self._waiting: list[str] = []

    def started(self, header: RunHeader) -> None:
        self._next = time.monotonic() + self._seconds
        self._tasks = header.tasks
        self._wall_time = header.budget_seconds
        header = on_one_line(header)
        self._line(f"{header.name}: {describe(header)}")
        self._line(f"run {header.run_id} in {header.path}")
        for notice in header.notices:
            self._line(f"note: {notice}")

    def updated(self, row: Row, alerts: Mapping[str, str] = NO_ALERTS) -> None:
        self._row = row
        evaluation = row.get("eval/return/mean")
        if alerts:
            self._report(alerts)
        elif self._reported:
            self._reported.clear()
        if evaluation is not None or time.monotonic() >= self._next:
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
        left = seconds_left(row, self._wall_time)
        if left is not None and left >= 1:
            parts.append(f"{clock(left)} left")
        self._line("  ".join(parts))

    def _meanwhile(self, what: str, done: int, total: int, unit: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            self._line(f"{what} {done:,}/{total:,} {unit}")

    def _report(self, alerts: Mapping[str, str]) -> None:
        """Each alert once, until none is active: its condition may hold for thousands of updates."""
        for key, text in alerts.items():
            alert = f"{key}: {text}"
            if alert not in self._reported:
                self._reported.add(alert)
                self._line(f"alert: {alert}")

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


def on_one_line(header: RunHeader) -> RunHeader:
    """The header with names and paths as a terminal may show them."""
    return replace(
        header, name=escaped(header.name), env_id=escaped(header.env_id), path=escaped(header.path)
    )


def describe(header: RunHeader) -> str:
    """The run's setup in one line."""
    parts = [header.algo, f"{header.engine} engine", f"{header.n_envs} {header.backend} envs"]
    if header.env_id != header.name.partition(":")[0]:
        parts.insert(0, header.env_id)
    parts += [f"{header.parameters:,} parameters", header.budget]
    if header.solved_at is not None:
        parts.append(f"solved at {number('eval/return/mean', header.solved_at)}")
    return " · ".join(parts)


def summarise(outcome: Outcome) -> str:
    """How the run ended, in one line."""
    text = {
        "solved": "solved",
        "finished": f"finished ({outcome.reason})",
        "interrupted": f"{outcome.reason} and saved",
        "failed": f"failed ({outcome.reason})",
    }[outcome.status]
    text += f" after {outcome.env_steps:,} env steps in {duration(outcome.seconds)}"
    if outcome.best_score is not None:
        best = number("eval/return/mean", outcome.best_score)
        text += f", best score {best} (highest of its evaluations)"
    return text


def number(key: str, value: float) -> str:
    """The value with the catalogue's precision for that key; huge ones are shortened."""
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    return f"{value:,.{spec(key).precision}f}"


def short(value: float) -> str:
    """1234567 → 1.23M."""
    for size, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:  # 999,999 is 1M, not 1e+03k
            return f"{value / size:.3g}{suffix}"
    return f"{value:.0f}"


def clock(seconds: float) -> str:
    """65 → 1:05, 3700 → 1:01:40."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else clock(seconds)


def seconds_left(row: Row, wall_time: float | None = None) -> float | None:
    """What remains at the speed so far, evaluations included; one row's own speed would make it jump.
    Where wall time ends the run sooner: what remains of that."""
    progress, seconds = row.get("time/progress"), row.get("time/seconds")
    if seconds is None:
        return None
    ends = [seconds * (1 - progress) / progress] if progress else []
    ends += [] if wall_time is None else [max(0.0, wall_time - seconds)]
    return min(ends, default=None)


def is_shaped(row: Row) -> bool:
    """Whether the learner's rewards differ from the env's own."""
    scored, rewarded = row.get(SCORED), row.get(REWARDED)
    return scored is not None and rewarded is not None and not math.isclose(scored, rewarded, rel_tol=1e-6)
