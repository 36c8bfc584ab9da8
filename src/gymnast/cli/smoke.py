"""`gymnast smoke`: does every preset train, evaluate, record a video and resume here?"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs
from gymnast.terminal.text import echo_json

if TYPE_CHECKING:
    from gymnast.api import SmokeOutcome
    from gymnast.terminal.screen import Screen


def smoke(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Families, environments or presets; all of them if none is named.",
            autocompletion=complete_reference,
        ),
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="Only the first variant of each environment.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many at a time; one per core, up to 8, if not given.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds after which a preset fails.")] = 120.0,
    config_dir: ConfigDirs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list, at the end.")] = False,
) -> None:
    """Try presets: train for two updates, evaluate and record an episode, resume.

    Games, networks and algorithms are the presets' own, on a few steps of two envs, in a temporary folder.
    What is not installed is skipped. Exit code 1 if any preset failed.

    \b
    Examples:
      gymnast smoke                    every preset there is
      gymnast smoke atari vizdoom      two families
      gymnast smoke CartPole-v1:ppo    one preset
      gymnast smoke --first            one preset of each environment
    """
    from gymnast.terminal.screen import screen

    presets = api.smoke_presets(words or (), every_variant=not first, config_dirs=config_dir or ())
    progress = screen(err=True)
    count = 0

    def done(outcome: SmokeOutcome) -> None:
        nonlocal count
        count += 1
        mark = {"ok": "✓", "failed": "✗", "skipped": "–"}[outcome.status]
        progress.print(f"{count}/{len(presets)} {mark} {outcome.preset} {outcome.seconds:.1f} s")

    # SIGTERM ends it as Ctrl-C does: with its processes, and its folder removed.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        outcomes = api.try_presets(presets, jobs=jobs, timeout=timeout, on_outcome=done)
    finally:
        signal.signal(signal.SIGTERM, before)
    if as_json:
        echo_json([outcome.to_json() for outcome in outcomes])
    else:
        _print_table(screen(), outcomes)
    raise typer.Exit(1 if any(outcome.status == "failed" for outcome in outcomes) else 0)


def _print_table(console: Screen, outcomes: list[SmokeOutcome]) -> None:
    from gymnast.terminal.screen import Table, Text

    table = Table(box=None, pad_edge=False)
    table.add_column("preset", overflow="fold")
    for stage in api.SMOKE_STAGES:
        table.add_column(stage, justify="center", min_width=len(stage))
    table.add_column("seconds", justify="right", min_width=len("seconds"))
    table.add_column("", no_wrap=True)
    marks = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text("–", "dim")}
    verdicts = {
        "ok": Text("✓", "green"),
        "failed": Text("failed", "red"),
        "skipped": Text("skipped", "magenta"),
    }
    for outcome in outcomes:
        table.add_row(
            Text(outcome.preset),
            *(marks[outcome.stages.get(stage)] for stage in api.SMOKE_STAGES),
            f"{outcome.seconds:.1f}",
            verdicts[outcome.status],
        )
    console.print(table)
    for outcome in outcomes:
        if outcome.reason is not None:  # below the table, where there is room for it
            head = Text(
                f"\n{outcome.preset} {outcome.status}", "red" if outcome.status == "failed" else "magenta"
            )
            reason = outcome.reason.strip().replace("\n", "\n  ")
            console.print(head + Text(f"\n  {reason}", ""), soft_wrap=True)
    counts = [(sum(o.status == status for o in outcomes), status) for status in verdicts]
    console.print(Text("\n" + ", ".join(f"{count} {status}" for count, status in counts if count)))
