"""`gymnast archive`: a whole run on Weights & Biases."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.options import Json, RunName, RunsDir
from gymnast.cli.program import program
from gymnast.terminal.text import echo, echo_json


def archive(
    run: RunName = "@last",
    project: Annotated[
        str | None,
        typer.Option(help="The project; else that which tracked the run, WANDB_PROJECT, gymnast."),
    ] = None,
    entity: Annotated[str | None, typer.Option(help="The user or team; else the login's own.")] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Put a whole run on Weights & Biases, as the artifact run-ID.

    It is packed as by `gymnast pack`, and `gymnast pull` brings it back on any machine. Archived again, it is
    a new version; `latest` and `best` name the newest. It needs the extra wandb and a login.

    \b
    Examples:
      gymnast archive                      the last run
      gymnast archive k3v --project keep --entity my-team
    """
    done = api.archive_run(run, project=project, entity=entity, runs_dir=runs_dir)
    if as_json:
        echo_json(asdict(done))
        return
    echo(f"archived run {done.run}, {done.version} ({', '.join(done.aliases)}), {done.bytes:,} bytes")
    if done.url:
        echo(f"page     {done.url}")
    echo(f"pull     {program()} pull {done.source}")
