"""Old runs on Weights & Biases: their metrics files are logged there again, under the same id.

W&B's own offline files cannot be resumed, and a tracker may have failed in the middle of a run; metrics.csv
has every row. What W&B already has is not sent twice: rows up to the last one there are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnast.archive.pack import held_still
from gymnast.archive.wandb_artifact import check_name, explained, is_name
from gymnast.config.reading import parse_yaml
from gymnast.errors import GymnastError, MissingExtra
from gymnast.metrics.csv_file import read_metrics
from gymnast.metrics.sinks.trackers.backend import TrackedRun
from gymnast.metrics.sinks.trackers.settings import WandbSettings, check_tracker
from gymnast.metrics.sinks.trackers.tracker import EXIT_CODES
from gymnast.metrics.sinks.trackers.wandb import WandbBackend, login_problem
from gymnast.redact import redact, redacted
from gymnast.runs.files import list_folder, read_json, remove_tree, write_atomic
from gymnast.runs.registry import RunEntry, entry_of
from gymnast.runs.store import RunFolder

STEPS = "time/env_steps"
_FINISH_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Relogged:
    """What was sent of a run."""

    run: str
    sent: int  # rows
    there: int  # rows that W&B had already
    url: str


def relog_run(run: RunFolder, project: str | None, entity: str | None) -> Relogged:
    """Log the rows of metrics.csv that W&B does not have yet, and the outcome of the run."""
    if find_spec("wandb") is None:
        raise MissingExtra("gymnast wandb sync", "wandb")
    for what, name in (("project", project), ("entity", entity)):
        check_name(what, name)
    with held_still(run):
        config = redacted(parse_yaml(run.config_text(), str(run.config_path)))
        rows = read_metrics(run.metrics_path)
        if not rows:
            raise GymnastError(f"run {run.id} has no metrics, so there is nothing to log")
        entry = entry_of(run)
        known = _known(run, project, entity)
        backend = WandbBackend(_settings(config, known, project, entity).model_dump())
        os.environ["WANDB_SILENT"] = "true"
        connected = _connect(backend, _tracked(run, entry, rows[-1], config, known))
        with explained(f"run {run.id}"):
            until = _last_there(backend, run.id)
            wanted = [row for row in rows if row.get(STEPS, 0) > until]
            for row in wanted:
                backend.row(row)
            status = "solved" if entry.state == "solved" else entry.status
            backend.finish(EXIT_CODES.get(status, 0), _summary(entry), _FINISH_SECONDS)
        kept = (read_json(run.trackers_path) or {}) | {"wandb": connected}
        write_atomic(run.trackers_path, json.dumps(kept, indent=2) + "\n", durable=False)
    return Relogged(run.id, len(wanted), len(rows) - len(wanted), str(connected.get("url", "")))


def _settings(
    config: Any, known: Mapping[str, Any], project: str | None, entity: str | None
) -> WandbSettings:
    """Those that the run was trained with, to the same place unless another is named; always online."""
    sinks = config.get("sinks") if isinstance(config, dict) else None
    own = [sink for sink in sinks or [] if isinstance(sink, dict) and sink.get("name") == "wandb"]
    arguments = {key: value for key, value in (own[0] if own else {}).items() if key != "name"}
    given = {"project": project or known.get("project"), "entity": entity or known.get("entity")}
    arguments |= {key: value for key, value in given.items() if value is not None}
    arguments |= {"mode": "online", "finish_seconds": _FINISH_SECONDS}
    settings = check_tracker("wandb", arguments)
    assert isinstance(settings, WandbSettings)
    return settings


def _known(run: RunFolder, project: str | None, entity: str | None) -> dict[str, Any]:
    """Where the run was tracked; nothing if that is another place than the one wanted."""
    known = (read_json(run.trackers_path) or {}).get("wandb")
    known = known if isinstance(known, dict) else {}
    sound = {key: value for key, value in known.items() if isinstance(value, str) and is_name(value)}
    same = project in (None, sound.get("project")) and entity in (None, sound.get("entity"))
    return sound if same else {}


def _tracked(
    run: RunFolder, entry: RunEntry, last: Mapping[str, Any], config: Any, known: Mapping[str, Any]
) -> TrackedRun:
    return TrackedRun(
        id=run.id,
        path=run.path.absolute(),
        name=entry.name,
        algo=entry.algo,
        env=entry.env,
        env_steps=int(last.get(STEPS, 0)),
        config=config if isinstance(config, dict) else {},
        known=known,
        pid=os.getpid(),
    )


def _connect(backend: WandbBackend, tracked: TrackedRun) -> dict[str, Any]:
    """Log in and begin the run there; if that fails, W&B's files of the attempt are removed again."""
    folder = tracked.path / "wandb"
    before = set(list_folder(folder))
    try:
        with explained(f"run {tracked.id}"):
            return backend.connect(tracked)
    except GymnastError as error:
        _remove_new(folder, before)
        cause = error.__cause__
        if isinstance(cause, Exception) and (problem := login_problem(cause)) is not None:
            raise GymnastError(f"W&B: {redact(problem)}, or set WANDB_API_KEY") from error
        raise


def _remove_new(folder: Path, before: set[str]) -> None:
    with suppress(OSError, GymnastError):
        for name in set(list_folder(folder)) - before:
            remove_tree(folder / name)
        folder.rmdir()  # succeeds only while empty


def _last_there(backend: WandbBackend, run_id: str) -> float:
    """The env step of the last row that W&B has; -1 where it has none."""
    lines, steps = backend.logged_before(STEPS)
    if lines == 0:
        return -1.0
    if steps is None:
        raise GymnastError(
            f"W&B has {lines:,} rows of run {run_id} already, and does not say up to which step; log it"
            " somewhere else with --project NAME"
        )
    return steps


def _summary(entry: RunEntry) -> dict[str, Any]:
    """As the end of a tracked run leaves it."""
    keys = ("solved", "best_score", "last_score", "env_steps", "seconds")
    return {"status": entry.state, **{key: getattr(entry, key) for key in keys}}
