"""`gymnast runs stop|pause|resume|checkpoint|evaluate|watch`: control a run that another process trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymnast import api
from gymnast.cli.options import Json, RunName, RunsDir
from gymnast.cli.program import option_for, program
from gymnast.errors import GymnastError, cut
from gymnast.terminal.text import echo, echo_json, escaped

if TYPE_CHECKING:
    from gymnast.api import RunEntry

Timeout = Annotated[str, typer.Option(metavar="TIME", help="How long to wait: seconds, or 10m.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Whether to wait until it is done.")]

EXIT_CODES = {"failed": 1, "interrupted": 3}


def stop(
    run: RunName, timeout: Timeout = "60", wait: Wait = True, runs_dir: RunsDir = None, as_json: Json = False
) -> None:
    """Have a run finish its update, save and end."""
    entry = api.stop_run(run, wait=wait, timeout=_seconds(timeout), runs_dir=runs_dir)
    _report(entry, "will stop after this update" if not wait else _how_it_ended(entry), as_json)


def pause(
    run: RunName, timeout: Timeout = "60", wait: Wait = True, runs_dir: RunsDir = None, as_json: Json = False
) -> None:
    """Have a run wait after its update; a paused one stays paused."""
    entry = api.pause_run(run, wait=wait, timeout=_seconds(timeout), runs_dir=runs_dir)
    _report(entry, "is paused" if entry.paused else _not_yet(entry, wait, "will pause"), as_json)


def resume(
    run: RunName, timeout: Timeout = "60", wait: Wait = True, runs_dir: RunsDir = None, as_json: Json = False
) -> None:
    """Have a paused run train again. (A run that has ended: gymnast train --resume RUN.)"""
    entry = api.resume_paused_run(run, wait=wait, timeout=_seconds(timeout), runs_dir=runs_dir)
    _report(entry, _not_yet(entry, wait, "will resume") if entry.paused else "is training", as_json)


def checkpoint(
    run: RunName, timeout: Timeout = "60", wait: Wait = True, runs_dir: RunsDir = None, as_json: Json = False
) -> None:
    """Have a run save a checkpoint after its update."""
    folder = api.find_run(run, runs_dir=runs_dir)
    steps = api.checkpoint_run(folder, wait=wait, timeout=_seconds(timeout))
    if as_json:
        echo_json({"id": folder.id, "env_steps": steps}, indent=None)
    else:
        done = "will save a checkpoint" if steps is None else f"has saved a checkpoint at step {steps:,}"
        echo(f"run {folder.id} {done}")


def evaluate(
    run: RunName, timeout: Timeout = "60", wait: Wait = True, runs_dir: RunsDir = None, as_json: Json = False
) -> None:
    """Have a run evaluate its policy after its update; a paused one does when it is resumed."""
    folder = api.find_run(run, runs_dir=runs_dir)
    found = api.evaluate_run(folder, wait=wait, timeout=_seconds(timeout))
    if as_json:
        scored = None if found is None else {"env_steps": found.env_steps, "score": found.score}
        echo_json({"id": folder.id, "evaluation": scored}, indent=None)
    elif found is None:
        echo(f"run {folder.id} will evaluate after this update")
    else:
        from gymnast.metrics.sinks.console import number

        shown = number("eval/return/mean", found.score)
        echo(f"run {folder.id} was evaluated at step {found.env_steps:,}: score {shown}")


def watch(
    run: RunName = "@last",
    from_start: Annotated[
        bool, typer.Option("--from-start", help="All rows, also those that are there already.")
    ] = False,
    runs_dir: RunsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> None:
    """Follow a run until it ends; Ctrl-C leaves it alone. The exit code is that of its training."""
    from gymnast.metrics.sinks.plain import PlainConsole

    folder = api.find_run(run, runs_dir=runs_dir)
    console, where = PlainConsole(), option_for(runs_dir)

    def show_pause(paused: bool) -> None:
        if not as_json:
            console.note(f"paused: {program()} runs resume {folder.id}{where}" if paused else "resumed")

    def show(row: dict[str, Any]) -> None:
        if as_json:
            echo_json(row, indent=None)
        else:
            console.updated(row)

    if not as_json:
        entry = api.run_state(folder)
        echo(f"{escaped(entry.name or entry.env)}: run {folder.id} in {folder.path}")
    try:
        for row in api.watch_run(folder, from_start=from_start, on_pause=show_pause):
            show(row)
    except KeyboardInterrupt:
        echo(f"\nrun {folder.id} trains on; stop it with: {program()} runs stop {folder.id}{where}", err=True)
        raise
    entry = api.run_state(folder)
    if not as_json:
        console.note(f"run {folder.id} {_how_it_ended(entry)}")
    raise typer.Exit(EXIT_CODES.get(entry.status, 0))


COMMANDS: tuple[Callable[..., None], ...] = (stop, pause, resume, checkpoint, evaluate, watch)


def _seconds(text: str) -> float:
    try:
        seconds = api.parse_duration(text)
    except ValueError as error:
        raise GymnastError(f"--timeout: {error}") from None
    if seconds <= 0:
        raise GymnastError(f"--timeout: {text!r} leaves no time to wait; use --no-wait")
    return seconds


def _not_yet(entry: RunEntry, waited: bool, will: str) -> str:
    if not waited:
        return f"{will} after this update"
    if entry.status == "running":
        return "was asked otherwise meanwhile"
    return _how_it_ended(entry)


def _how_it_ended(entry: RunEntry) -> str:
    from gymnast.metrics.sinks.console import number

    verb = {"solved": "is solved", "interrupted": "was interrupted", "running": "is training"}
    verb["paused"] = "is paused"
    reason = f" ({cut(escaped(entry.reason), 200)})" if entry.reason else ""
    best = "" if entry.best_score is None else f", best score {number('eval/return/mean', entry.best_score)}"
    return f"{verb.get(entry.state, entry.state)}{reason} at step {entry.env_steps:,}{best}"


def _report(entry: RunEntry, what: str, as_json: bool) -> None:
    if as_json:
        echo_json(entry.to_json())
    else:
        echo(f"run {entry.id} {what}")
