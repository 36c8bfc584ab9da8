"""Runs as tables in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich import box

from gymnast.errors import cut
from gymnast.metrics.sinks.console import duration, short
from gymnast.metrics.sinks.sparkline import sparkline
from gymnast.terminal.screen import Table, Text, screen
from gymnast.terminal.text import escaped

if TYPE_CHECKING:
    from gymnast.api import RunEntry, RunSummary

_WIDE, _NARROW = 109, 76  # columns that the full table of runs needs, and the usual one


def print_entries(found: Sequence[RunEntry]) -> None:
    """One row per run; a narrow terminal shows the most important columns in full."""
    console = screen()
    styles = {"running": "cyan", "interrupted": "magenta", "failed": "red"}
    columns = ["run", "name", "status", "best score", "env steps", "time", "started"]
    if console.width >= _WIDE:
        columns = ["run", "name", "seed", "status", "best score", "last score", "score AUC", *columns[-3:]]
    elif console.width < _NARROW:
        columns = columns[:5]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        numeric = column in {"best score", "last score", "score AUC", "env steps", "time", "started"}
        table.add_column(
            column.removesuffix(" score").removeprefix("env "),
            justify="right" if numeric else "left",
            no_wrap=column != "name",
        )
    for entry in found:
        style = "green" if entry.solved else styles.get(entry.status)
        table.add_row(*(_RESULTS[column](entry) for column in columns), style=style)
    console.print(table)


def print_summary(summary: RunSummary) -> None:
    """One run in full."""
    entry = summary.run
    console = screen()
    facts = Table.grid("", "", padding=(0, 2))
    selected = ""
    if len(summary.evals) > 1:
        selected = f"  highest of {len(summary.evals)} evaluations, all on the same episodes"
    for label, value in _RESULTS.items():
        facts.add_row(label, value(entry) + (selected if label == "best score" else ""))
    if entry.reason:
        facts.add_row("ended", cut(entry.reason, 200))
    if summary.init_from:
        facts.add_row("began with", f"the policy of {summary.init_from}")
    for resume in summary.resumes:
        facts.add_row("resumed", f"at step {resume['env_steps']:,}, {ago(resume['created'])}")
    facts.add_row("command", " ".join(summary.command))
    facts.add_row("folder", summary.path)
    console.print(facts)
    scores = [evaluation.score for evaluation in summary.evals]
    if scores:
        line, noun = sparkline(scores, 60), "evaluation" if len(scores) == 1 else "evaluations"
        about = f"\n{len(scores)} {noun}, {min(scores):,.2f} to {max(scores):,.2f}  "
        console.print(Text(about).append(line, "cyan"))
    for name, own in summary.tasks.items():
        if own:
            console.print(Text(f"  {escaped(name)}: {own[-1]:,.2f} in the last, {max(own):,.2f} at best"))
    if summary.checkpoints:
        console.print(_checkpoints(summary))


def _checkpoints(summary: RunSummary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("checkpoint", justify="right")
    table.add_column("score", justify="right")
    for column in ("saved for", "when", ""):
        table.add_column(column)
    for saved in summary.checkpoints:
        marks = [("best", saved.best), ("last", saved.last), (saved.damaged, bool(saved.damaged))]
        table.add_row(
            str(saved.env_steps),
            _score(saved.score),
            saved.reason,
            ago(saved.created),
            ", ".join(mark for mark, holds in marks if holds),
        )
    return table


def ago(moment: str) -> str:
    """An ISO time as '5 min ago'."""
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (TypeError, ValueError):
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"


_RESULTS: dict[str, Callable[[RunEntry], str]] = {
    "run": lambda e: e.id,
    "name": lambda e: cut(e.name),
    "env": lambda e: cut(e.env),
    "algo": lambda e: e.algo,
    "seed": lambda e: "" if e.seed is None else str(e.seed),
    "status": lambda e: e.state,
    "best score": lambda e: _score(e.best_score),
    "last score": lambda e: _score(e.last_score),
    "score AUC": lambda e: _score(e.score_auc),
    "env steps": lambda e: short(e.env_steps),
    "time": lambda e: duration(e.seconds),
    "steps/s": lambda e: f"{e.env_steps / e.seconds:,.0f}" if e.seconds else "",
    "started": lambda e: ago(e.created),
}
