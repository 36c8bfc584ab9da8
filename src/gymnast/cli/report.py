"""`gymnast report`: what came of a run, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.options import RunName, RunsDir
from gymnast.cli.trust import Trust
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_entry, json_text

if TYPE_CHECKING:
    from gymnast.api import RunReport


def report(
    run: RunName = "@last",
    llm: Annotated[
        bool, typer.Option("--llm", help="Print one compact text for a language model, at most 8 kB.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="With --llm: at most 32 kB.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file; - prints the Markdown."),
    ] = None,
    tables: Annotated[
        bool,
        typer.Option("--tables/--no-tables", help="Also write tables of steps that checkpoints lack."),
    ] = True,
    runs_dir: RunsDir = None,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Report on a run: its outcome, curves, alerts with advice, settings, timing, checkpoints.

    Without options it writes report.md, with pictures in report/, into the run's folder, and prints the
    outcome and the alerts. Every run writes its report.md when it ends.

    \b
    Examples:
      gymnast report                       the last run
      gymnast report k3v --output mine.md  pictures go to mine/
      gymnast report k3v --llm | llm "what should I change?"
      gymnast report k3v --json
    """
    if full and not llm:
        raise GymnastError("--full is the longer form of --llm: give both")
    if llm and as_json:
        raise GymnastError("give one of --llm and --json")
    to_stdout = output is not None and str(output) == "-"
    if llm or as_json or to_stdout:
        found = api.read_report(run, runs_dir=runs_dir)
        text = found.llm(full=full) if llm else json_text(found.to_json(), 2) if as_json else found.markdown()
        if output is None or to_stdout:
            echo(text.rstrip("\n"))
        else:
            echo(f"report   {found.save(output, text)}")
        return
    with api.captured_output():
        found = api.write_report(run, out=output, tables=tables, runs_dir=runs_dir, trust=trust)
    _show(found)


def _show(found: RunReport) -> None:
    """The outcome, the alerts, and where the rest is; all of it where nothing could be written."""
    if found.path is None:
        echo(found.markdown())
        return
    echo(found.outcome, wrap=True)
    for problem in found.facts.problems:
        echo(f"could not be read: {problem}", style="magenta", wrap=True)
    for alert in found.facts.alerts:
        seen = f"{alert.count:,} times, steps {alert.first_step:,} to {alert.last_step:,}"
        seen = f"once, at step {alert.first_step:,}" if alert.count == 1 else seen
        echo_entry(f"  {alert.severity}, {seen}", alert.message, name=alert.id)
        if alert.advice:
            echo(f"    {alert.advice}", wrap=True)
    echo(f"report   {found.path}")
