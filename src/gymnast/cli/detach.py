"""`gymnast train … --detach`: start a run in the background, and print how to control it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gymnast import api
from gymnast.cli.program import option_for, program
from gymnast.terminal.text import echo, echo_json


def train_detached(
    reference: str | None, options: dict[str, Any], runs_dir: Path | None, quiet: bool, as_json: bool
) -> None:
    """Start it and print its id; with --json also where it is, and its process."""
    run = api.start_detached(
        reference, runs_dir=runs_dir, notify=lambda text: echo(text, err=True), **options
    )
    if as_json:
        echo_json({"id": run.id, "path": str(run.path), "pid": run.pid}, indent=None)
    elif quiet:
        echo(run.id)
    else:
        where, gymnast = option_for(runs_dir), program()
        echo(f"run {run.id} trains in the background (process {run.pid})\n")
        for what, command in {
            "watch": f"{gymnast} runs watch {run.id}{where}",
            "pause": f"{gymnast} runs pause {run.id}{where}",
            "stop": f"{gymnast} runs stop {run.id}{where}",
            "resume": f"{gymnast} train --resume {run.id}{where}     once it has been stopped",
            "output": f"{run.path}/console.log",
        }.items():
            echo(f"{what:<10} {command}")
