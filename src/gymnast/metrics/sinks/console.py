"""What the terminal shows while a run trains: live, in plain lines, or nothing.

The loop calls a console after every update, hundreds of times per second, so a call that draws nothing costs
a few microseconds. None of them imports rich: a run starts sooner without it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.catalogue import spec
from gymnast.metrics.sinks.narrative import SCORED
from gymnast.metrics.sinks.sink import Sink, Style
from gymnast.processes import output
from gymnast.terminal.text import echo, escaped

if TYPE_CHECKING:
    from gymnast.training.report import Report
    from gymnast.training.run.outcome import Outcome

Row = Mapping[str, float | int | bool | None]
NO_ALERTS: tuple[Alert, ...] = ()
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
    env_steps: int = 0  # already trained, of a run that is resumed
    config: Mapping[str, Any] = field(default_factory=dict)  # plain data, secrets hidden


class Console(Sink):
    """A sink that also shows progress within an update; methods return at once if nothing is to be drawn."""

    def take(self, report: Report) -> None:
        self.updated(report.row, report.alerts)

    def updated(self, row: Row, alerts: Sequence[Alert] = NO_ALERTS) -> None:
        """The metrics of an update, and the alerts that are active after it."""

    def evaluating(self, done: int, total: int) -> None:
        """So many episodes of an evaluation are done."""

    def collecting(self, done: int, total: int) -> None:
        """So many steps of a rollout are done."""

    def suspend(self) -> None:
        """The process is about to be stopped by the shell."""

    def resume(self) -> None:
        """The process continues in the foreground."""


def build_console(quiet: bool = False, json: bool = False, keys: str = "", *, plain: bool = False) -> Console:
    """The live view on a terminal, plain lines elsewhere or where they are asked for; nothing on stdout when
    it is asked to be quiet.

    `keys` is the footer of the live view: what can be pressed, or nothing where no key can arrive.
    """
    if quiet or json:
        return QuietConsole()
    from gymnast.metrics.sinks.plain import PlainConsole

    if plain:
        return PlainConsole()
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
    return f"{value:z,.{spec(key).precision}f}"


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
