"""`gymnast train … --detach`: start a run in the background, and print how to control it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import typer

from gymnast import api


def train_detached(
    reference: str | None, options: dict[str, Any], runs_dir: str | None, quiet: bool, as_json: bool
) -> None:
    """Start it and print its id; with --json also where it is, and its process."""
    run = api.start_detached(
        reference, runs_dir=runs_dir, notify=lambda text: typer.echo(text, err=True), **options
    )
    if as_json:
        typer.echo(json.dumps({"id": run.id, "path": str(run.path), "pid": run.pid}))
    elif quiet:
        typer.echo(run.id)
    else:
        where = f" --runs-dir {shlex.quote(runs_dir)}" if runs_dir else ""
        typer.echo(f"run {run.id} trains in the background (process {run.pid})\n")
        for what, command in {
            "watch": f"gymnast runs watch {run.id}{where}",
            "pause": f"gymnast runs pause {run.id}{where}",
            "stop": f"gymnast runs stop {run.id}{where}",
            "resume": f"gymnast train --resume {run.id}{where}     once it has been stopped",
            "output": f"{run.path}/console.log",
        }.items():
            typer.echo(f"{what:<10} {command}")
