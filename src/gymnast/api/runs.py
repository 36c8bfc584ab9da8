"""Runs on disk: list, show, find the best, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError
from gymnast.runs import registry, selection, summary
from gymnast.runs.registry import RunEntry
from gymnast.runs.store import RunFolder, delete_run, runs_root
from gymnast.runs.summary import RunSummary

__all__ = [
    "RunEntry",
    "RunSummary",
    "best_runs",
    "delete_runs",
    "find_run",
    "list_runs",
    "runs_folder",
    "show_run",
]


def runs_folder(runs_dir: str | Path | None = None) -> Path:
    """Where runs are kept: the argument, else GYMNAST_RUNS_DIR, else ./runs."""
    return runs_root(runs_dir)


def find_run(run: str | Path | Run = "@last", *, runs_dir: str | Path | None = None) -> RunFolder:
    """The folder of the run that a reference names: an id, the beginning of one, @last, @best or a path."""
    return folder_of(run, runs_dir)


def list_runs(
    *,
    env: str | None = None,
    status: str | None = None,
    solved: bool | None = None,
    limit: int | None = None,
    runs_dir: str | Path | None = None,
) -> list[RunEntry]:
    """All runs that fit the filters, newest first."""
    found = registry.entries(runs_root(runs_dir))
    return selection.select(found, env=env, status=status, solved=solved, limit=limit)


def show_run(run: str | Path | Run = "@last", *, runs_dir: str | Path | None = None) -> RunSummary:
    """One run: how it went, its evaluations and checkpoints."""
    return summary.summarise(folder_of(run, runs_dir))


def best_runs(env: str | None = None, *, runs_dir: str | Path | None = None) -> list[RunEntry]:
    """The best run of each env, or of those that `env` names; the run that `@best` means."""
    root = runs_root(runs_dir)
    best = selection.best_by_env(root, selection.of_env(registry.entries(root), env))
    if not best:
        raise GymnastError(f"no run{f' of {env}' if env else ''} in {root} was evaluated yet")
    return list(best.values())


def delete_runs(
    runs: Sequence[str | Path | Run],
    *,
    confirm: Callable[[list[RunEntry]], bool] = lambda entries: True,
    runs_dir: str | Path | None = None,
) -> list[str]:
    """Remove runs for good and give their ids; none at all if one is being trained or `confirm` refuses."""
    doomed = list({run.path: run for run in (folder_of(name, runs_dir) for name in runs)}.values())
    for run in doomed:  # before the first is gone
        if run.is_locked():
            raise GymnastError(f"run {run.id} is being trained; stop it first")
    if not confirm([registry.entry_of(run) for run in doomed]):
        return []
    for run in doomed:
        delete_run(run)
    registry.entries(runs_root(runs_dir))  # drops them from the index
    return [run.id for run in doomed]
