"""Which runs are meant: filters, and the best run of each env.

`@best`, `gymnast runs best` and `api.best_runs` all take the run that `best_by_env` gives: the highest best
score, of equal scores the newest run. In a mix a run that solved every task ranks above one that did not,
whatever their means. Scores of different envs do not compare, so each env has a best run of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gymnast.errors import GymnastError, did_you_mean
from gymnast.metrics.csv_file import read_header
from gymnast.runs.registry import STATES, RunEntry
from gymnast.runs.sidecar import Rank, rank
from gymnast.runs.store import RunFolder


def select(
    found: Sequence[RunEntry],
    *,
    env: str | None = None,
    status: str | None = None,
    solved: bool | None = None,
    limit: int | None = None,
) -> list[RunEntry]:
    """The runs that fit every filter that is given, in the same order."""
    if status is not None and status not in STATES:
        raise GymnastError(f"no status {status!r}: {', '.join(STATES)}{did_you_mean(status, STATES)}")
    return [e for e in of_env(found, env) if status in (None, e.state) and solved in (None, e.solved)][:limit]


def of_env(found: Sequence[RunEntry], env: str | None) -> list[RunEntry]:
    """The runs of an env, by its id or else by a part of it."""
    if env is None or not found:
        return list(found)
    wanted = env.lower()
    chosen = [entry for entry in found if entry.env.lower() == wanted]
    chosen = chosen or [entry for entry in found if wanted in entry.env.lower()]
    if not chosen:
        envs = sorted({entry.env for entry in found})
        raise GymnastError(
            f"no run of {env!r}" + (did_you_mean(env, envs) or f"; there are runs of {', '.join(envs)}")
        )
    return chosen


def best_by_env(root: Path, found: Sequence[RunEntry]) -> dict[str, RunEntry]:
    """The best run of each env; envs of which no run was evaluated are left out."""
    best: dict[str, tuple[Rank, RunEntry]] = {}
    for entry in found:
        own = _rank(root, entry) if entry.env else None  # without its run.json a score means nothing
        if own is None:
            continue
        known = best.get(entry.env)
        if known is None or (own, entry.created, entry.id) > (known[0], known[1].created, known[1].id):
            best[entry.env] = own, entry
    return {env: entry for env, (_, entry) in best.items()}


def _rank(root: Path, entry: RunEntry) -> Rank | None:
    return rank(entry.best_score, solves_all=entry.solved and _is_mix(RunFolder(root / entry.id)))


def _is_mix(run: RunFolder) -> bool:
    with suppress(GymnastError):  # metrics that cannot be read must not hide all other runs
        return any(key.startswith("eval/task/") for key in read_header(run.metrics_path))
    return False
