"""The index of all runs: `registry.json`, newest first.

It is a cache. What started a run is in its run.json, its current state in its status.json; both
are written before the index, so the index can be lost, damaged or outdated and is rebuilt from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args

from gymnast.errors import GymnastError, RunFailed, did_you_mean
from gymnast.redact import redact
from gymnast.runs import checkpoint, score_auc
from gymnast.runs.files import read_bytes, read_json, refuse_irregular, write_atomic, write_failed
from gymnast.runs.store import RunFolder, now, open_run, run_folders
from gymnast.runs.trainer import is_paused, is_training

Status = Literal["running", "finished", "interrupted", "failed"]
STATUSES: tuple[str, ...] = get_args(Status)
_MOST_INDEX = 64 << 20  # of more than 100,000 runs
# What users see, in tables, JSON and filters: `finished` and `running` with what else is known.
State = Literal["running", "paused", "solved", "finished", "interrupted", "failed"]
STATES: tuple[str, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run as the index knows it."""

    id: str
    # What started it, from run.json.
    name: str = ""
    env: str = ""
    variant: str | None = None
    algo: str = ""
    seed: int | None = None
    created: str = ""
    # Its current state, from status.json.
    status: Status = "running"
    reason: str | None = None  # why it ended, in words
    solved: bool = False
    best_score: float | None = None
    last_score: float | None = None
    env_steps: int = 0
    seconds: float = 0.0
    score_auc: float | None = None  # score_auc.py; of runs that have ended
    updated: str = ""
    # What its process is doing at this moment; never stored.
    paused: bool = False  # of a running one

    @property
    def state(self) -> State:
        """The one word for how the run is doing."""
        if self.status == "finished" and self.solved:
            return "solved"
        return "paused" if self.status == "running" and self.paused else self.status

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"status": self.state}


_NUMBER, _MAYBE_NUMBER, _MAYBE_TEXT = (int, float), (int, float, NoneType), (str, NoneType)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "name", "env", "algo", "created", "status", "updated"), (str,)),
    **dict.fromkeys(("variant", "reason"), _MAYBE_TEXT),
    **dict.fromkeys(("best_score", "last_score", "score_auc", "seed"), _MAYBE_NUMBER),
    **dict.fromkeys(("env_steps", "seconds"), _NUMBER),
    **dict.fromkeys(("solved", "paused"), (bool,)),
}
_FLAGS = {"solved", "paused"}
_BEYOND = 2.0**63  # no count, score or duration of ours is as large
_START_KEYS = ("id", "name", "env", "variant", "algo", "seed", "created")
_STATUS_KEYS = tuple(field.name for field in fields(RunEntry) if field.name not in (*_START_KEYS, "paused"))
# What `update` takes, and the plain type that NumPy's numbers are converted to.
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "status": str,
    "reason": lambda text: redact(str(text)),  # an exception's text may contain anything
    **dict.fromkeys(("best_score", "last_score", "seconds"), float),
    "solved": bool,
    "env_steps": int,
}


def update(root: Path, run_id: str, **changes: Any) -> RunEntry:
    """Record the state of a run: any of status, reason, solved, best_score, last_score, env_steps,
    seconds. The rest stays as it was; the score AUC is computed when the run ends."""
    for name in changes:
        if name not in _PLAIN:
            raise GymnastError(f"the registry has no field {name!r}{did_you_mean(name, _PLAIN)}")
    if changes.get("status", "running") not in STATUSES:
        raise GymnastError(f"a run is {', '.join(STATUSES)}, not {changes['status']!r}")
    if changes.get("status") == "running":
        changes.setdefault("reason", None)  # a resumed run has not ended
    run = open_run(root, run_id)
    plain: dict[str, Any] = {
        name: None if value is None else _PLAIN[name](value) for name, value in changes.items()
    }
    before = _read_entry(run)
    entry = replace(before, **plain, updated=now())
    if entry.status != "running":
        entry = replace(entry, score_auc=_score_auc(run))
    document = asdict(entry)
    write_atomic(
        run.status_path, json.dumps({name: _finite(document[name]) for name in _STATUS_KEYS}, indent=1) + "\n"
    )
    # Of what runs, the index knows no more than that (`entries` reads its folder): it is not written again
    # after each checkpoint, which among hundreds of runs takes longer than a short training.
    if not (before.updated and before.status == entry.status == "running"):
        with _locked(root):
            known = _read_index(root) or {}
            known[run_id] = entry
            _write_index(root, known)
    return entry


def entries(root: Path) -> list[RunEntry]:
    """Every run under `root`, newest first. A run that is recorded as running though no process
    trains it was killed: it is listed as interrupted."""
    runs = {run.id: run for run in run_folders(root)}
    index = _read_index(root)
    known = {run_id: entry for run_id, entry in (index or {}).items() if run_id in runs}
    for run_id, run in runs.items():
        # A run that was running when the index was written may have changed since.
        if run_id not in known or known[run_id].status == "running":
            known[run_id] = _read_entry(run)
    if runs and known != index:
        # Updating the index is optional: a read-only folder can still be listed.
        with suppress(GymnastError):
            _update_index(root, known)
    return _newest_first([_as_it_is(runs[run_id], entry) for run_id, entry in known.items()])


def entry_of(run: RunFolder) -> RunEntry:
    """One run in its current state; a killed one never computed its score AUC, so that is done here."""
    entry = _as_it_is(run, _read_entry(run))
    if entry.status == "interrupted" and entry.score_auc is None:
        return replace(entry, score_auc=_score_auc(run))
    return entry


def rebuild(root: Path) -> list[RunEntry]:
    """Write the index again from the folders."""
    with _locked(root):
        _write_index(root, {run.id: _read_entry(run) for run in run_folders(root)})
    return entries(root)


def _update_index(root: Path, seen: dict[str, RunEntry]) -> None:
    with _locked(root):
        latest = _read_index(root) or {}
        # An update written since `seen` was read is newer.
        merged = {
            run_id: max(entry, latest.get(run_id, entry), key=lambda e: e.updated)
            for run_id, entry in seen.items()
        }
        merged |= {
            run.id: latest[run.id] for run in run_folders(root) if run.id in latest and run.id not in seen
        }
        _write_index(root, merged)


def _as_it_is(run: RunFolder, entry: RunEntry) -> RunEntry:
    if entry.status != "running":
        return entry
    if not is_training(run):
        return replace(entry, status="interrupted", reason=entry.reason or "killed")
    return replace(entry, paused=is_paused(run))


def _read_entry(run: RunFolder) -> RunEntry:
    """From the run's own files; checkpoints and metrics replace a lost status.json. A folder that cannot be
    read is an entry too: it must not hide the other runs, nor be hidden by them."""
    started = run.info()
    state = read_json(run.status_path)
    try:
        if state is None:
            state = _guess(run)
        elif "score_auc" not in state:  # written before there was one
            state = {**state, "score_auc": _score_auc(run)}
    except (OSError, ValueError, GymnastError) as error:
        state = {"status": "failed", "reason": f"its files cannot be read: {error}", **(state or {})}
    if not started and (problem := _unreadable(run)) is not None:
        state = {**state, "status": "failed", "reason": problem}
    values = {name: started.get(name) for name in _START_KEYS} | {
        name: state.get(name) for name in _STATUS_KEYS
    }
    # The id of a copied or renamed folder is its folder's name.
    return RunEntry(**{**_sound(values), "id": run.id})


def _unreadable(run: RunFolder) -> str | None:
    """What keeps its run.json from being read at all; None if nothing does and the content is wrong."""
    try:
        read_bytes(run.info_path)
    except (OSError, GymnastError) as error:
        return f"its run.json cannot be read: {error}"
    return None


def _guess(run: RunFolder) -> dict[str, Any]:
    known = [checkpoint.sidecar_or_none(c) for c in checkpoint.list_checkpoints(run)]
    saved = [sidecar for sidecar in known if sidecar is not None]
    if not saved:
        return {}
    current = checkpoint.current_scores(run, saved)
    ranks = [s.rank for s in current if s.rank is not None]
    return {
        "env_steps": saved[-1].env_steps,
        "seconds": float(saved[-1].metrics.get("time/seconds") or 0.0),
        "solved": any(s.metrics.get("eval/solved") for s in current),
        "best_score": max(ranks)[1] if ranks else None,
        "last_score": ranks[-1][1] if ranks else None,
        "score_auc": _score_auc(run),
        "updated": saved[-1].created,
    }


def _score_auc(run: RunFolder) -> float | None:
    """None too where the metrics cannot be read, or run.json was edited: whoever shows them reports that."""
    with suppress(GymnastError, OSError, TypeError, ValueError):
        return score_auc.of_run(run)
    return None


def _sound(values: dict[str, Any]) -> dict[str, Any]:
    """The values that have the right type; a file may have been edited by hand."""
    return {
        name: value
        for name, value in values.items()
        if name in _TYPES
        and isinstance(value, _TYPES[name])
        and (name in _FLAGS) == isinstance(value, bool)
        and (not isinstance(value, (int, float)) or abs(value) < _BEYOND)  # false for NaN as well
        and (name != "status" or value in STATUSES)
    }


def _index_path(root: Path) -> Path:
    return root.resolve() / "registry.json"  # the runs folder may be a link: the user named it


def _read_index(root: Path) -> dict[str, RunEntry] | None:
    document = read_json(_index_path(root), _MOST_INDEX)
    try:
        items = document["runs"] if document else None
        if items is None or any(_sound(item) != item for item in items):
            return None
        return {item["id"]: RunEntry(**item) for item in items}
    except (KeyError, TypeError, AttributeError):  # damaged, or of another version
        return None


def _write_index(root: Path, known: dict[str, RunEntry]) -> None:
    ordered = [
        {key: _finite(value) for key, value in asdict(e).items()} for e in _newest_first(known.values())
    ]
    # Not flushed to the disk: after a power cut it is rebuilt.
    write_atomic(_index_path(root), json.dumps({"runs": ordered}, indent=1) + "\n", durable=False)


def _newest_first(items: Any) -> list[RunEntry]:
    return sorted(items, key=lambda entry: (entry.created, entry.id), reverse=True)


def _finite(value: Any) -> Any:
    """JSON has no NaN and infinity; as a score they mean none."""
    return None if isinstance(value, float) and value - value != 0 else value


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    path = root / ".registry.lock"
    refuse_irregular(path)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=30)
    except Timeout:
        raise RunFailed(f"another process has held {path} for 30 s") from None
    except OSError as error:
        raise write_failed(path, error) from error
    try:
        yield
    finally:
        lock.release()
