"""The live view of a run in a terminal: progress, score and health in one calm frame.

Drawn a few times per second from inside the loop's own calls, without a thread: on a small machine a drawing
thread would slow down the training it shows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.live import Live

from gymnast.metrics.catalogue import spec
from gymnast.metrics.sinks.console import (
    NO_ALERTS,
    REWARDED,
    SCORED,
    Console,
    Row,
    RunHeader,
    clock,
    is_shaped,
    number,
    on_one_line,
    seconds_left,
    short,
    summarise,
)
from gymnast.metrics.sinks.sink import Style
from gymnast.metrics.sinks.sparkline import History, sparkline
from gymnast.processes import output
from gymnast.terminal.screen import LiveScreen, Screen, Styled, Text
from gymnast.terminal.text import escaped

if TYPE_CHECKING:
    from gymnast.training.run.outcome import Outcome

DRAW_SECONDS = 0.2
CHANGE_SECONDS = 2.0  # changes are shown against the value this long ago: against the last draw they flicker
MAX_TASKS = 4  # of a mix that have lines of their own
MESSAGE_SECONDS = 5.0
LONG_WORK_SECONDS = 0.4  # only a rollout or evaluation longer than this gets its own progress: no flicker

SCORE = {SCORED: "train return", "eval/return/mean": "eval return", "eval/best": "best"}
SHAPED = {REWARDED: "shaped return"}  # only where it differs from the train return
HEALTH = {
    "train/kl": "KL",
    "train/clip_fraction": "clip fraction",
    "train/entropy": "entropy",
    "train/explained_variance": "explained var.",
    "train/loss/value": "value loss",
    "opt/grad_norm": "gradient norm",
    "opt/lr": "learning rate",
}
SPEED = {"time/fps": "steps / second"}
_SHOWN = SCORE | SHAPED | HEALTH | SPEED
_COLOURS: dict[Style, str] = {"info": "dim", "good": "green", "warning": "yellow", "error": "bold red"}


_ENDINGS = {"solved": "bold green", "finished": "bold", "interrupted": "yellow", "failed": "bold red"}


class _Figure:
    """One row of the table: its history, its value, and its previous value."""

    __slots__ = ("_key", "_marks", "_previous", "changed_at", "history", "value")

    def __init__(self, key: str) -> None:
        self.history = History()
        self.value: float | None = None
        self.changed_at = 0.0
        self._key = key
        self._previous: float | None = None
        self._marks: deque[tuple[float, float]] = deque(maxlen=int(CHANGE_SECONDS / DRAW_SECONDS) + 2)

    def set(self, value: float) -> None:
        self.history.add(value)
        if self._key.startswith("eval/"):
            if value != self.value:
                self.changed_at = time.monotonic()
            if value != self.value or self._key != "eval/best":  # the best is in every row
                self._previous = self.value
        self.value = value

    def change(self, now: float) -> float:
        """Since the evaluation before, or over the last seconds; remembers the value of this draw."""
        if self.value is None or self._key in SPEED:
            return 0.0
        if self._key.startswith("eval/"):
            return self.value - self._previous if self._previous is not None else 0.0
        self._marks.append((now, self.value))
        while len(self._marks) > 1 and self._marks[1][0] <= now - CHANGE_SECONDS:
            self._marks.popleft()
        return self.value - self._marks[0][1]


class LiveConsole(Console):
    """A rich live view that redraws itself from `updated`, `evaluating` and `collecting`."""

    def __init__(self, terminal: Screen | None = None, keys: str = "") -> None:
        self._terminal = terminal if terminal is not None else LiveScreen()
        self._keys = keys
        self._live: Live | None = None
        self._header: RunHeader | None = None
        self._row: Row = {}
        self._alerts: Mapping[str, str] = NO_ALERTS
        self._figures = {key: _Figure(key) for key in _SHOWN}
        self._tasks: dict[str, str] = {}  # of a mix: keys and labels
        self._fps: float | None = None
        self._next_draw = 0.0
        self._work: tuple[str, int, int, str, float] | None = None  # what, done, total, unit, since
        self._message: tuple[str, Style, float] | None = None
        self._paused = False
        self._over = False
        self._drawing = False
        self._waiting: list[tuple[str, Style]] = []

    def started(self, header: RunHeader) -> None:
        self._header = on_one_line(header)
        for name in header.tasks[:MAX_TASKS]:
            self._tasks |= {
                f"task/{name}/return_plain/mean": escaped(name)[:15],
                f"eval/task/{name}/return/mean": f"{escaped(name)[:10]} eval",
            }
        self._figures |= {key: _Figure(key) for key in self._tasks}
        for notice in header.notices:
            self._print(notice, "info")
        self.resume()

    def updated(self, row: Row, alerts: Mapping[str, str] = NO_ALERTS) -> None:
        self._row = row
        self._alerts = alerts
        self._work = None
        for key, figure in self._figures.items():
            value = row.get(key)
            if value is not None:
                figure.set(value)
        if time.monotonic() >= self._next_draw:
            self._draw()

    def evaluating(self, done: int, total: int) -> None:
        self._working("evaluating", done, total, "episodes")

    def collecting(self, done: int, total: int) -> None:
        self._working("collecting", done, total, "steps")

    def note(self, text: str, style: Style = "info") -> None:
        """Transient notes stay a few seconds in the frame; what matters later is printed above it."""
        if style in ("info", "good") and self._live is not None and "\n" not in text:
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
        with self._writing():
            self._terminal.print(Text(summarise(outcome), style=_ENDINGS[outcome.status]))

    def suspend(self) -> None:
        """Leave the terminal as a shell wants it; in the middle of a draw that would garble the frame."""
        if not self._drawing:
            self.close()

    def resume(self) -> None:
        """A new frame below whatever was printed meanwhile."""
        if self._live is None and self._header is not None:
            self._live = Live(
                self._frame(),
                console=self._terminal,
                auto_refresh=False,
                vertical_overflow="crop",
                # What an env prints belongs above the frame only where no log takes it.
                redirect_stdout=not output.is_captured(),
                redirect_stderr=not output.is_captured(),
            )
            with self._writing():
                self._live.start(refresh=True)

    def close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            with self._writing():
                live.stop()

    def _working(self, what: str, done: int, total: int, unit: str) -> None:
        now = time.monotonic()
        before = self._work
        continues = before is not None and before[0] == what and before[1] <= done
        self._work = (what, done, total, unit, before[4] if before is not None and continues else now)
        if now >= self._next_draw:
            self._draw()

    def _print(self, text: str, style: Style) -> None:
        """Print above the frame. What a signal handler prints in the middle of a draw waits for its end."""
        self._waiting.append((text, style))
        if self._drawing:
            return
        with self._writing():
            while self._waiting:
                text, style = self._waiting.pop(0)
                prefix = f"{style}: " if style in ("warning", "error") else ""
                self._terminal.print(Text(prefix + text, style=_COLOURS[style]))

    def _draw(self) -> None:
        if self._live is None or self._drawing:
            return
        with self._writing():
            self._live.update(self._frame(), refresh=True)
        self._next_draw = time.monotonic() + DRAW_SECONDS
        if self._waiting:
            self._print(*self._waiting.pop(0))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A terminal that is lost (a dropped connection) is no longer written to; training continues."""
        self._drawing = True
        try:
            yield
        except OSError:
            self._terminal.quiet = True
        finally:
            self._drawing = False

    def _frame(self) -> Styled:
        assert self._header is not None
        width = min(self._terminal.width, 110)
        now = time.monotonic()
        lines: list[Styled] = [_title(self._header), Text(self._header.path, style="dim"), Text()]
        lines += [self._progress(width), self._activity(now, width), Text()]
        shaped = SHAPED if is_shaped(self._row) else {}
        for group in (SCORE, self._tasks, shaped | HEALTH, SPEED):
            # Scores keep their place while there are none yet: a frame that grows later would jump.
            rows = [
                self._figure(key, label, now, width)
                for key, label in group.items()
                if group in (SCORE, self._tasks) or self._figures[key].value is not None
            ]
            lines += [*rows, Text()] if rows else []
        if self._keys and not self._over:
            lines.append(Text(f"  {self._keys}", style="dim"))
        else:
            lines.pop()
        for line in lines:
            line.truncate(width - 1, overflow="ellipsis")
        return Text("\n", no_wrap=True).join(lines)

    def _progress(self, width: int) -> Styled:
        row, budget = self._row, self._header.budget_env_steps if self._header is not None else None
        progress = min(1.0, max(0.0, row.get("time/progress") or 0.0))
        steps = short(row.get("time/env_steps") or 0)
        right = f" {progress:4.0%}  {steps}{f'/{short(budget)}' if budget else ''} steps"
        right += f"  {clock(row.get('time/seconds') or 0)}"
        left = seconds_left(row, self._header.budget_seconds if self._header is not None else None)
        right += f"  {clock(left)} left" if left is not None and progress < 1 and not self._over else ""
        # A fixed width for the numbers keeps the bar's end in place.
        room = max(10, width - max(len(right), 42) - 3)
        bar = _bar(progress, room)
        return Text("  ").append_text(bar).append(right)

    def _activity(self, now: float, width: int) -> Text:
        if self._paused:
            return Text("  paused: press p to continue", style="bold yellow")
        line = Text("  ")
        if self._work is not None:
            what, done, total, unit, since = self._work
            if now - since >= LONG_WORK_SECONDS:
                line.append(f"{what} ", style="dim")
                line.append_text(_bar(done / total if total else 0.0, min(24, width // 3)))
                line.append(f" {done:,}/{total:,} {unit}  ", style="dim")
        if self._message is not None:
            text, style, until = self._message
            if now < until:
                line.append(text, style=_COLOURS[style])
            else:
                self._message = None
        return line

    def _figure(self, key: str, label: str, now: float, width: int) -> Text:
        figure, alert = self._figures[key], self._alerts.get(key)
        line = Text().append(f"  {label:<16}", style="yellow" if alert else "dim")
        if figure.value is None:
            return line.append(f"{'–':>12}", style="dim")
        change = figure.change(now)
        colour = _change_colour(key, change)
        fresh = figure.changed_at > now - MESSAGE_SECONDS and change != 0
        value = number(key, self._steady(key, figure.value))
        line.append(f"{value:>12}", style=f"bold {colour}" if fresh else "bold")
        shown = number(key, abs(change))
        moved = shown.strip("0.,") != ""
        line.append(f"{('+' if change > 0 else '−') + shown:>12}  " if moved else " " * 14, style=colour)
        room = width - 46
        solved_at = self._header.solved_at if self._header is not None else None
        if alert:
            bars = sparkline(figure.history.points, room - 36)  # at 80 columns the text needs all the space
            line.append(f"{bars} " if bars else "", style="cyan").append(f"⚠ {alert}", style="yellow")
        elif key != "eval/best":
            line.append(sparkline(figure.history.points, min(32, room)), style="cyan")
        elif solved_at is not None:
            reached = figure.value >= solved_at
            line.append(f"solved at {number(key, solved_at)}", style="green" if reached else "dim")
        return line

    def _steady(self, key: str, value: float) -> float:
        """The speed of single updates fluctuates; what is shown is a moving average."""
        if key not in SPEED:
            return value
        self._fps = value if self._fps is None else 0.8 * self._fps + 0.2 * value
        return self._fps


def _title(header: RunHeader) -> Text:
    """Budget and threshold are shown with the figures they belong to."""
    about = f"{header.algo} · {header.engine} engine · {header.n_envs} {header.backend} envs"
    if header.env_id != header.name.partition(":")[0]:
        about = f"{header.env_id} · {about}"
    return (
        Text()
        .append(header.name, style="bold")
        .append(f"  {about} · {header.parameters:,} parameters", style="dim")
    )


def _bar(share: float, width: int) -> Text:
    full = round(min(1.0, max(0.0, share)) * width)
    # Two characters: with one, a bar without colours would always look full.
    return Text().append("━" * full, style="cyan").append("─" * (width - full), style="bright_black")


def _change_colour(key: str, change: float) -> str:
    """Green or red where the catalogue knows which way is better."""
    better = spec(key).better
    if better is None:
        return "dim"
    return "green" if (change > 0) == (better == "higher") else "red"
