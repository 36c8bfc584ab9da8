"""`gymnast runs`: list, show, compare, find the best, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gymnast import api
from gymnast.cli.options import Json, RunName, RunNames, RunsDir
from gymnast.cli.runs_compare import compare
from gymnast.cli.runs_control import COMMANDS
from gymnast.cli.runs_export import export
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import RunEntry


class _ListByDefault(TyperGroup):
    """`gymnast runs` and `gymnast runs --json` mean `gymnast runs list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell asks what may follow: any of the commands
            return super().parse_args(ctx, args)
        if not args or (args[0].startswith("-") and args[0] not in {"--help", "-h"}):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ListByDefault, help="List, show, compare, control and remove runs.", no_args_is_help=False
)

SCORE_AUC = """\b
score AUC: the mean best score so far, over the env steps of the budget. Higher is better:
  1/B · Σ best(k) · (steps for which best(k) was the best so far),  B = budgeted env steps
  It compares runs of one env with the same budget."""


@app.command("list", epilog=SCORE_AUC)
def list_runs(
    env: Annotated[str | None, typer.Option(help="Only this env, or envs whose id contains it.")] = None,
    status: Annotated[
        str | None, typer.Option(help="Only running, paused, solved, finished, interrupted or failed.")
    ] = None,
    solved: Annotated[bool | None, typer.Option("--solved/--unsolved", help="Only (un)solved ones.")] = None,
    limit: Annotated[int | None, typer.Option("-n", "--limit", min=1, help="At most this many.")] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """All runs, newest first."""
    found = api.list_runs(env=env, status=status, solved=solved, limit=limit, runs_dir=runs_dir)
    if as_json:
        echo_json([entry.to_json() for entry in found])
    elif found:
        _print_entries(found)
    else:
        root = api.runs_folder(runs_dir)
        echo(f"no such runs in {root}" if env or status or solved is not None else f"no runs in {root} yet")


@app.command(epilog=SCORE_AUC)
def show(run: RunName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """One run: how it went, its evaluations and checkpoints."""
    from gymnast.cli.runs_tables import print_summary

    summary = api.show_run(run, runs_dir=runs_dir)
    if as_json:
        echo_json(summary.to_json())
    else:
        print_summary(summary)


app.command(epilog=SCORE_AUC)(compare)


@app.command(epilog=SCORE_AUC)
def best(
    env: Annotated[str | None, typer.Argument(metavar="ENV", help="An env; else one row for each.")] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """The best run of each env: the one that @best means.

    The run with the highest best score; of equal scores the newest. In a mix a run that solved every task
    ranks above one that did not. Scores of different envs do not compare, so @best is an error while the
    folder has evaluated runs of several envs.
    """
    found = api.best_runs(env, runs_dir=runs_dir)
    if as_json:
        echo_json([entry.to_json() for entry in found])
    else:
        _print_entries(found)


@app.command()
def rm(
    runs: RunNames,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Remove runs for good, checkpoints and all. A run that is being trained is refused."""

    def agreed(doomed: list[RunEntry]) -> bool:
        if yes:
            return True
        if as_json:
            raise GymnastError("rm --json cannot ask: add --yes")
        _print_entries(doomed)
        return typer.confirm(f"Remove {'this run' if len(doomed) == 1 else f'these {len(doomed)} runs'}?")

    removed = api.delete_runs(runs, confirm=agreed, runs_dir=runs_dir)
    if not removed:
        raise typer.Exit(1)
    if as_json:
        echo_json({"removed": removed})
    else:
        echo(f"removed {', '.join(removed)}")


def _print_entries(found: list[RunEntry]) -> None:
    from gymnast.cli.runs_tables import print_entries  # with rich, which help and --json do without

    print_entries(found)


for command in (export, *COMMANDS):
    app.command()(command)
