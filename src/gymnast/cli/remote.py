"""`gymnast remote list|logs|stop|pull`, and what `gymnast train … --on modal` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gymnast import api
from gymnast.cli.options import Json, RunsDir
from gymnast.cli.pack import Force, show_arrived
from gymnast.cli.program import option_for, program
from gymnast.terminal.text import echo, echo_json

EXIT_CODES = {"done": 0, "failed": 1, "lost": 1}  # of what else ended: 3, it can be continued
HEADINGS: tuple[str, ...] = ("run", "what", "status", "steps", "best", "steps/s", "here", "time", "cost")

RemoteName = Annotated[
    str, typer.Argument(metavar="RUN", help="The id of a remote run; the last one if none is named.")
]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Runs that train on Modal: list, follow, stop and pull them.\n\n"
    "Start one with `gymnast train REFERENCE --on modal`; docs/remote.md says more.",
)


@app.command("list")
def list_remote(runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """List the remote runs that were started here, with what they did and cost so far.

    \b
    Examples:
      gymnast remote list
      gymnast remote list --json
    """
    entries = api.list_remote(runs_dir=runs_dir)
    if as_json:
        echo_json([entry.to_json() for entry in entries])
        return
    if not entries:
        echo(f"no remote runs yet; start one: {program()} train LunarLander-v3:ppo --on modal")
        return
    rows = [HEADINGS, *(_row(entry) for entry in entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for entry in entries:
        if entry.state.reason and entry.status not in ("running", "done"):
            echo(f"{entry.run.id}: {entry.state.reason}")


def _row(entry: api.RemoteEntry) -> tuple[str, ...]:
    run, state = entry.run, entry.state
    return (
        run.id,
        run.name,
        entry.status,
        f"{state.env_steps:,}",
        "" if state.score is None else f"{state.score:.2f}",
        "" if state.fps is None else f"{state.fps:,.0f}",
        "" if run.local_fps is None else f"{run.local_fps:,.0f}",
        f"{state.seconds / 60:.1f} min",
        f"${entry.dollars:.2f}",
    )


@app.command("logs")
def logs(
    run: RemoteName = "@last",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Until the run ends.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Print what a remote run has printed; Ctrl-C leaves the run alone.

    \b
    Examples:
      gymnast remote logs
      gymnast remote logs lander-1 --follow
    """
    lines = api.remote_logs(run, follow=follow, runs_dir=runs_dir)
    if as_json:
        echo_json({"lines": [line.rstrip("\n") for line in lines]})
        return
    for line in lines:
        echo(line, end="" if line.endswith("\n") else "\n")


@app.command("stop")
def stop(run: RemoteName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """Have a remote run save and end; the same command with --continue continues it.

    \b
    Examples:
      gymnast remote stop
      gymnast remote stop lander-1
    """
    entry = api.stop_remote(run, runs_dir=runs_dir)
    if as_json:
        echo_json(entry.to_json(), indent=None)
    else:
        echo(
            f"run {entry.run.id} is {entry.status} at step {entry.state.env_steps:,},"
            f" about ${entry.dollars:.2f}"
        )


@app.command("pull")
def pull(
    run: RemoteName = "@last", force: Force = False, runs_dir: RunsDir = None, as_json: Json = False
) -> None:
    """Bring a remote run, as its last checkpoint has it, among the runs here. It may train on there.

    \b
    Examples:
      gymnast remote pull
      gymnast remote pull lander-1 --runs-dir runs
    """
    show_arrived(api.pull_remote(run, force=force, runs_dir=runs_dir), runs_dir, as_json)


def train_remotely(
    reference: str, options: dict[str, Any], runs_dir: Path | None, detach: bool, quiet: bool, as_json: bool
) -> None:
    """Start a run on Modal; unless detached, follow it and bring it here when it ends."""
    silent = quiet or as_json
    run = api.train_on_modal(
        reference,
        runs_dir=runs_dir,
        notify=lambda text: echo(text, err=True),
        **options,
    )
    where, gymnast = option_for(runs_dir), program()
    if not silent:
        echo(f"run {run.id} trains on Modal, whatever happens here\n")
        for what, command in {
            "follow": f"{gymnast} remote logs {run.id} --follow{where}",
            "state": f"{gymnast} remote list{where}",
            "stop": f"{gymnast} remote stop {run.id}{where}",
            "pull": f"{gymnast} remote pull {run.id}{where}",
        }.items():
            echo(f"{what:<10} {command}")
        echo()
    if detach:
        if as_json:
            echo_json(run.to_json(), indent=None)
        elif quiet:
            echo(run.id)
        return
    for line in api.remote_logs(run.id, follow=True, runs_dir=runs_dir):
        if not silent:
            echo(line, end="" if line.endswith("\n") else "\n")
    entry = api.remote_run(run.id, runs_dir=runs_dir)
    pulled = api.pull_remote(run.id, runs_dir=runs_dir) if entry.state.env_steps else None
    if as_json:
        echo_json(entry.to_json() | {"path": None if pulled is None else str(pulled.path)}, indent=None)
    else:
        here = "" if pulled is None else f"; pulled to {pulled.path}"
        rates = "" if entry.state.fps is None else f", {entry.state.fps:,.0f} steps/s"
        rates += "" if run.local_fps is None else f" (here {run.local_fps:,.0f})"
        why = f" ({entry.state.reason})" if entry.state.reason else ""
        echo(f"run {run.id} is {entry.status}{why}{rates}, about ${entry.dollars:.2f}{here}")
    raise typer.Exit(EXIT_CODES.get(entry.status, 3))
