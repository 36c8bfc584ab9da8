"""The remote runs that were started from here: a small file each, and no run folder before there is a run.

runs/.remote/
  ID.json        where a run is trained, how large and what it may cost
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, did_you_mean
from gymnast.runs.files import (
    is_link,
    list_folder,
    make_folder,
    read_json,
    remove,
    write_atomic,
    write_failed,
)
from gymnast.runs.ids import RUN_ID

FOLDER = ".remote"  # no run id begins with a dot


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A run that is trained elsewhere."""

    id: str
    name: str
    where: str  # 'modal'
    volume: str
    call: str  # the first one; later ones are in the run's state
    started: str
    cores: float
    memory: int
    gpu: str | None
    dollars_per_hour: float
    max_seconds: float | None
    local_fps: float | None
    budget_env_steps: int | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def remember_remote(root: Path, run: RemoteRun) -> None:
    """Write it down, in one move."""
    folder = root / FOLDER
    if is_link(folder):
        raise GymnastError(f"{folder} is a link: remote runs are noted in the runs folder itself")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GymnastError(str(write_failed(root, error))) from error
    make_folder(folder)
    write_atomic(folder / f"{run.id}.json", json.dumps(run.to_json(), indent=1) + "\n", durable=False)


def forget_remote(root: Path, run_id: str) -> None:
    remove(root / FOLDER / f"{run_id}.json")


def remote_runs(root: Path) -> list[RemoteRun]:
    """All of them, the newest first; a file that makes no sense is passed over."""
    folder = root / FOLDER
    if is_link(folder) or not folder.is_dir():
        return []
    ids = [name.removesuffix(".json") for name in list_folder(folder) if name.endswith(".json")]
    found = [_read(folder, run_id) for run_id in ids if RUN_ID.fullmatch(run_id)]
    return sorted((run for run in found if run is not None), key=lambda run: run.started, reverse=True)


def find_remote(root: Path, reference: str) -> RemoteRun:
    """The one that a reference names: its id, or @last."""
    known = {run.id: run for run in remote_runs(root)}
    if reference == "@last" and known:
        return next(iter(known.values()))
    if reference not in known:
        raise GymnastError(
            f"no remote run {reference!r} in {root}{did_you_mean(reference, known)}; see gymnast remote list"
        )
    return known[reference]


def _read(folder: Path, run_id: str) -> RemoteRun | None:
    values = read_json(folder / f"{run_id}.json") or {}
    names = {field.name for field in fields(RemoteRun)}
    numbers = ("cores", "memory", "dollars_per_hour")
    texts = ("name", "where", "volume", "call", "started")
    if set(values) != names or values["id"] != run_id:
        return None
    if not all(isinstance(values[name], (int, float)) for name in numbers):
        return None
    return RemoteRun(**values) if all(isinstance(values[name], str) for name in texts) else None
