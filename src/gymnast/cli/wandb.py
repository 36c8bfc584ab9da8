"""`gymnast wandb`: what there is to set up on Weights & Biases."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.options import Json
from gymnast.terminal.text import echo, echo_json

app = typer.Typer(help="Set up Weights & Biases.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Makes a group of an app with one command."""


@app.command()
def dashboard(
    project: Annotated[
        str | None, typer.Option(help="The project; else WANDB_PROJECT, else gymnast.")
    ] = None,
    entity: Annotated[str | None, typer.Option(help="The user or team; else the login's own.")] = None,
    x_axis: Annotated[
        str, typer.Option(help="vec_steps, env_steps, updates or seconds; as the runs have it.")
    ] = "vec_steps",
    as_json: Json = False,
) -> None:
    """Make one workspace with a panel for every metric, or update it.

    Sections are the namespaces of the metrics, and the y axes have the bounds that a metric has. The
    workspace is remembered: called again, the command updates it and makes no second one.

    \b
    Examples:
      gymnast wandb dashboard
      gymnast wandb dashboard --project cartpole --entity my-team
    """
    made = api.wandb_dashboard(project=project, entity=entity, x_axis=x_axis)
    if as_json:
        echo_json(asdict(made))
    else:
        echo(f"{'updated' if made.updated else 'made'} {made.panels} panels in {made.entity}/{made.project}")
        echo(made.url)
