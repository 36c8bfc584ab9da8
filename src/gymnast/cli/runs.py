"""`gymnast runs`: list, show, compare, find the best, remove."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gymnast.cli.runs_control import COMMANDS
from gymnast.errors import GymnastError, did_you_mean

if TYPE_CHECKING:
    from gymnast.runs.registry import RunEntry


class _ListByDefault(TyperGroup):
    """`gymnast runs` and `gymnast runs --json` mean `gymnast runs list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in {"--help", "-h"}):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ListByDefault, help="List, show, compare, control and remove runs.", no_args_is_help=False
)

RunsDir = Annotated[
    Path | None, typer.Option("--runs-dir", help="Where runs live; else GYMNAST_RUNS_DIR, else ./runs.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="An id, the beginning of one, @last, @best or a path.")
]
RunNames = Annotated[
    list[str], typer.Argument(metavar="RUN…", help="Ids, beginnings of ids, @last or paths.")
]


@app.command("list")
def list_runs(
    env: Annotated[str | None, typer.Option(help="Only this env, or envs whose id contains it.")] = None,
    status: Annotated[str | None, typer.Option(help="Only running, finished, interrupted or failed.")] = None,
    solved: Annotated[bool | None, typer.Option("--solved/--unsolved", help="Only (un)solved ones.")] = None,
    limit: Annotated[int | None, typer.Option("-n", "--limit", min=1, help="At most this many.")] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """All runs, newest first."""
    from gymnast.cli.runs_tables import print_entries
    from gymnast.runs.registry import STATUSES, entries
    from gymnast.runs.store import runs_root

    root = runs_root(runs_dir)
    if status is not None and status not in STATUSES:
        raise GymnastError(f"no status {status!r}: {', '.join(STATUSES)}{did_you_mean(status, STATUSES)}")
    found = _of_env(entries(root), env)
    found = [e for e in found if status in (None, e.status) and solved in (None, e.solved)][:limit]
    if as_json:
        _print_json([asdict(entry) for entry in found])
    elif found:
        print_entries(found)
    else:
        typer.echo(
            f"no such runs in {root}" if env or status or solved is not None else f"no runs in {root} yet"
        )


@app.command()
def show(run: RunName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """One run: how it went, its evaluations and checkpoints."""
    from gymnast.cli.runs_tables import print_summary
    from gymnast.runs.references import find_run
    from gymnast.runs.store import runs_root
    from gymnast.runs.summary import summarise

    summary = summarise(find_run(runs_root(runs_dir), run))
    if as_json:
        _print_json(summary)
    else:
        print_summary(summary)


@app.command()
def compare(runs: RunNames, runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """Runs side by side: results, and the settings in which they differ."""
    from gymnast.cli.runs_tables import print_comparison
    from gymnast.runs.references import find_run
    from gymnast.runs.registry import entry_of
    from gymnast.runs.store import runs_root
    from gymnast.runs.summary import differing, settings_of

    root = runs_root(runs_dir)
    chosen = [find_run(root, name) for name in runs]
    if len({run.path for run in chosen}) < 2:
        raise GymnastError("name at least two different runs to compare; `gymnast runs` lists them")
    found = [entry_of(run) for run in chosen]
    settings = differing([settings_of(run) for run in chosen])
    if as_json:
        _print_json({"runs": [asdict(entry) for entry in found], "settings": settings})
    else:
        print_comparison(found, settings)


@app.command()
def best(
    env: Annotated[str | None, typer.Argument(metavar="[ENV]", help="An env; else one row for each.")] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """The run with the best score of each env; of equal scores the one with the higher merit."""
    from gymnast.cli.runs_tables import print_entries
    from gymnast.runs.registry import entries
    from gymnast.runs.store import runs_root

    root = runs_root(runs_dir)
    scored = [entry for entry in _of_env(entries(root), env) if entry.best_score is not None]
    if not scored:
        raise GymnastError(f"no run{f' of {env}' if env else ''} in {root} was evaluated yet")
    top: dict[str, RunEntry] = {}
    for entry in scored:
        if entry.env not in top or _rank(entry) > _rank(top[entry.env]):
            top[entry.env] = entry
    if as_json:
        _print_json([asdict(entry) for entry in top.values()])
    else:
        print_entries(list(top.values()))


@app.command()
def rm(
    runs: RunNames,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Remove runs for good, checkpoints and all. A run that is being trained is refused."""
    from gymnast.cli.runs_tables import print_entries
    from gymnast.runs.references import find_run
    from gymnast.runs.registry import entries, entry_of
    from gymnast.runs.store import delete_run, runs_root

    root = runs_root(runs_dir)
    doomed = list({run.path: run for run in (find_run(root, name) for name in runs)}.values())
    for run in doomed:  # before the first is gone
        if run.is_locked():
            raise GymnastError(f"run {run.id} is being trained; stop it first")
    if not yes:
        if as_json:
            raise GymnastError("rm --json cannot ask: add --yes")
        print_entries([entry_of(run) for run in doomed])
        if not typer.confirm(f"Remove {'this run' if len(doomed) == 1 else f'these {len(doomed)} runs'}?"):
            raise typer.Exit(1)
    for run in doomed:
        delete_run(run)
    entries(root)  # drops them from the index
    ids = [run.id for run in doomed]
    if as_json:
        _print_json({"removed": ids})
    else:
        typer.echo(f"removed {', '.join(ids)}")


def _of_env(found: list[RunEntry], env: str | None) -> list[RunEntry]:
    if env is None or not found:
        return found
    wanted = env.lower()
    chosen = [entry for entry in found if entry.env.lower() == wanted]
    chosen = chosen or [entry for entry in found if wanted in entry.env.lower()]
    if not chosen:
        raise GymnastError(f"no run of {env!r}{did_you_mean(env, {entry.env for entry in found})}")
    return chosen


def _rank(entry: RunEntry) -> tuple[float, float]:
    low = float("-inf")
    return (
        low if entry.best_score is None else entry.best_score,
        low if entry.merit is None else entry.merit,
    )


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


for command in COMMANDS:
    app.command()(command)
