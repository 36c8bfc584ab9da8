"""The lines around the live table: what runs, what is going on, how far it is, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gymnast.metrics.sinks.console import Row, RunHeader, clock, seconds_left, short
from gymnast.metrics.sinks.sink import Style as Tone
from gymnast.terminal.painter import Line, Painter, Style

WIDEST = 110
ROOMY_LINES = 30  # of a terminal: the run's folder and empty lines are shown from here on
SHARES_LINES = 16  # likewise: shares of time, and the keys
LONG_WORK_SECONDS = 0.4  # only a rollout or evaluation longer than this gets its own progress: no flicker
COLOURS: dict[Tone, Style] = {"info": "plain", "good": "good", "warning": "warning", "error": "bad"}


@dataclass(slots=True)
class Work:
    """A rollout or an evaluation in progress."""

    what: str
    unit: str
    since: float
    done: int = 0
    total: int = 0

    def seconds_left(self, now: float) -> float | None:
        """At its speed so far."""
        return (now - self.since) / self.done * (self.total - self.done) if self.done else None


@dataclass(frozen=True, slots=True)
class Around:
    """The lines above and below the table."""

    top: list[str]
    bottom: list[str]

    def __len__(self) -> int:
        return len(self.top) + len(self.bottom)


def around(
    painter: Painter,
    header: RunHeader,
    row: Row,
    *,
    size: tuple[int, int],
    sentence: str,
    activity: str,
    shares: Mapping[str, float],
    keys: str,
    over: bool,
) -> Around:
    """All that is not the table, in what a terminal of this size has room for."""
    width, height = size
    roomy, empty = height >= ROOMY_LINES, ""
    top = [_title(painter.line(width), header)]
    top += [str(painter.line(width).add(header.path)), empty] if roomy else []
    top += [str(painter.line(width).add(sentence, "bold"))]
    top += [_progress(painter.line(width), header, row, over)]
    top += [] if over and not activity else [activity]
    bottom: list[str] = []
    if height >= SHARES_LINES:
        top += [_shares(painter.line(width), shares), empty] if shares else [empty]
        bottom = [*([empty] if roomy else []), _keys(painter.line(width), keys)] if keys else []
    return Around(top, bottom)


def activity(
    painter: Painter,
    width: int,
    now: float,
    work: Work | None,
    message: tuple[str, Tone] | None,
    paused: bool,
) -> str:
    """What happens within this update, and what has just been said."""
    line = painter.line(width)
    if paused:
        return str(line.add("paused: press p to continue", "warning"))
    text = message[0] if message is not None else ""
    if work is not None:
        left = work.seconds_left(now)
        numbers = f" {work.done:,}/{work.total:,} {work.unit}"
        numbers += f"  {clock(left)} left" if left is not None and left >= 1 else ""
        bar = min(24, width // 4)
        if not text or len(work.what) + 1 + bar + len(numbers) + 2 + len(text) <= width:
            line.add(f"{work.what} ")
            _bar(line, work.done / work.total if work.total else 0.0, bar)
            line.add(f"{numbers}  ")
    if message is not None:
        line.add(text, COLOURS[message[1]])
    return str(line)


def _title(line: Line, header: RunHeader) -> str:
    """Budget and threshold are shown with the figures they belong to."""
    line.add(header.name, "bold").add("  ")
    parts = [header.algo, f"{header.engine} engine", f"{header.n_envs} {header.backend} envs"]
    if header.env_id != header.name.partition(":")[0]:
        parts.insert(0, header.env_id)
    parts.append(f"{header.parameters:,} parameters")
    for index, part in enumerate(parts):  # what does not fit is left out rather than cut
        text = f" · {part}" if index else part
        if index and len(text) > line.room:
            break
        line.add(text)
    return str(line)


def _progress(line: Line, header: RunHeader, row: Row, over: bool) -> str:
    budget = header.budget_env_steps
    progress = min(1.0, max(0.0, row.get("time/progress") or 0.0))
    steps = short(row.get("time/env_steps") or 0)
    right = f" {progress:4.0%}  {steps}{f'/{short(budget)}' if budget else ''} steps"
    right += f"  {clock(row.get('time/seconds') or 0)}"
    left = seconds_left(row, header.budget_seconds)
    right += f"  {clock(left)} left" if left is not None and progress < 1 and not over else ""
    # A fixed width for the numbers keeps the bar's end in place.
    _bar(line, progress, max(4, line.room - max(len(right), 42)))
    return str(line.add(right))


def _bar(line: Line, share: float, width: int) -> None:
    full = round(min(1.0, max(0.0, share)) * width)
    # Two characters: with one, a bar without colours would always look full.
    line.add("━" * full, "bar").add("─" * (width - full))


def _shares(line: Line, shares: Mapping[str, float]) -> str:
    for name, share in shares.items():
        line.add(f"{name} ").add(f"{share:.0%}", "bold").add("  ")
    return str(line)


def _keys(line: Line, keys: str) -> str:
    """Closer together where that saves the last of them."""
    return str(line.add(keys if len(keys) <= line.room else keys.replace(" · ", "  ")))
