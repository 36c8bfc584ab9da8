"""`gymnast runs export`: a run's metrics as a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.options import Json, RunName, RunsDir
from gymnast.terminal.text import echo, echo_json


def export(
    run: RunName = "@last",
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="csv or parquet; else by FILE's name, else parquet."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "--out", "-o", metavar="FILE", help="Where to; else RUN.parquet, here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Write a run's metrics as Parquet or CSV.

    \b
    Examples:
      gymnast runs export                          the last run, as Parquet
      gymnast runs export @best -o best.csv
      gymnast runs export k3v --format csv --force
    """
    done = api.export_metrics(run, output, format=form, force=force, runs_dir=runs_dir)
    if as_json:
        echo_json({"run": done.run, "path": str(done.path), "rows": done.rows})
    else:
        echo(f"{done.rows:,} rows of run {done.run} in {done.path}")
