"""`gymnast wandb`: a dashboard on Weights & Biases, and old runs there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs, Json, RunNames, RunsDir
from gymnast.terminal.text import echo, echo_json

app = typer.Typer(help="A dashboard on Weights & Biases, and old runs there.", no_args_is_help=True)


@app.command()
def dashboard(
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="PRESET",
            help="Gives the y axes the bounds of its env.",
            autocompletion=complete_reference,
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The project; else WANDB_PROJECT, else gymnast.")
    ] = None,
    entity: Annotated[str | None, typer.Option(help="The user or team; else the login's own.")] = None,
    x_axis: Annotated[
        str, typer.Option(help="vec_steps, env_steps, updates or seconds; as the runs have it.")
    ] = "vec_steps",
    config_dir: ConfigDirs = None,
    as_json: Json = False,
) -> None:
    """Make one workspace with a panel for every metric, or update it.

    Sections are the namespaces of the metrics, and the y axes have the bounds that a metric has; for a preset
    also those of its env: entropy by the number of actions, lengths by the time limit. The workspace is
    remembered: called again, the command updates it and makes no second one.

    \b
    Examples:
      gymnast wandb dashboard
      gymnast wandb dashboard CartPole-v1:ppo --project cartpole --entity my-team
    """
    made = api.wandb_dashboard(
        reference, project=project, entity=entity, x_axis=x_axis, config_dirs=config_dir or ()
    )
    if as_json:
        echo_json(asdict(made))
    else:
        echo(f"{'updated' if made.updated else 'made'} {made.panels} panels in {made.entity}/{made.project}")
        echo(made.url)


@app.command()
def sync(
    runs: RunNames,
    project: Annotated[
        str | None,
        typer.Option(help="The project; else that which tracked the run, WANDB_PROJECT, gymnast."),
    ] = None,
    entity: Annotated[str | None, typer.Option(help="The user or team; else the login's own.")] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Log old runs from their metrics files, under the same ids.

    For runs that were not tracked, tracked offline, or only in part: metrics.csv has every row, and rows that
    W&B has already are not sent again. The config and the outcome are sent too; videos and distributions are
    not. (`gymnast archive` keeps whole runs there.)

    \b
    Examples:
      gymnast wandb sync k3v
      gymnast wandb sync k3v a07 --project cartpole
    """
    for done in api.sync_to_wandb(runs, project=project, entity=entity, runs_dir=runs_dir):
        if as_json:
            echo_json(asdict(done), indent=None)
        else:
            had = f", {done.there:,} were there" if done.there else ""
            echo(f"{done.run}  {done.sent:,} rows{had}  {done.url}")
