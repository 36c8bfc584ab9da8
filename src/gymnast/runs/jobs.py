"""Jobs of a runs folder: work in a process of its own that is not a training, such as an evaluation.

runs/.jobs/
  job-k3v9x0ab/
    order.json      what is to be done
    process.json    which process does it
    result.json     what came of it: {"result": …} or {"error": …}; absent while it works
    output.log      what the process printed
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, did_you_mean
from gymnast.processes.identity import ProcessIdentity
from gymnast.runs.files import (
    is_link,
    list_folder,
    make_folder,
    read_bytes,
    read_json,
    remove_tree,
    write_atomic,
    write_failed,
)

JOB_ID = re.compile(r"job-[a-z0-9]{8}")
_FOLDER = ".jobs"  # no run id begins with a dot
_MOST_KEPT = 100
_MOST_OUTPUT = 64 << 20


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Where one job keeps its files."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def output_path(self) -> Path:
        return self.path / "output.log"

    def order(self) -> dict[str, Any]:
        return read_json(self.path / "order.json") or {}

    def result(self) -> dict[str, Any] | None:
        """What came of it; None while it works."""
        return read_json(self.path / "result.json")

    def finish(self, result: Mapping[str, Any]) -> None:
        write_atomic(self.path / "result.json", json.dumps(dict(result), indent=1) + "\n", durable=False)

    def process(self) -> ProcessIdentity | None:
        """Who works on it; None before it has said so."""
        said = read_json(self.path / "process.json")
        if said is None or type(said.get("pid")) is not int:
            return None
        return ProcessIdentity(said["pid"], said.get("started"), said.get("machine"))

    def announce(self, process: ProcessIdentity) -> None:
        write_atomic(self.path / "process.json", json.dumps(asdict(process)) + "\n", durable=False)

    def output(self) -> str:
        """What the process printed."""
        try:
            return read_bytes(self.output_path, _MOST_OUTPUT).decode(errors="replace")
        except (OSError, GymnastError):
            return ""


def create_job(root: Path, order: Mapping[str, Any]) -> JobFolder:
    """A new job with its order; the oldest that have ended make room."""
    folder = root / _FOLDER
    if is_link(folder):
        raise GymnastError(f"{folder} is a link: jobs are kept in the runs folder itself")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failed(root, error) from error
    make_folder(folder)
    _forget_old(root)
    draw = random.SystemRandom()
    job = JobFolder(folder / ("job-" + "".join(draw.choices(string.ascii_lowercase + string.digits, k=8))))
    make_folder(job.path)
    write_atomic(job.path / "order.json", json.dumps(dict(order), indent=1) + "\n", durable=False)
    return job


def open_job(root: Path, job_id: str) -> JobFolder:
    """The job with exactly this id. The id may come from anywhere: it can never leave the folder."""
    known = {job.id: job for job in job_folders(root)}
    if job_id not in known:
        raise GymnastError(f"no job {job_id!r}{did_you_mean(job_id, known)}")
    return known[job_id]


def job_folders(root: Path) -> list[JobFolder]:
    """Every job under `root`, the newest first."""
    folder = root / _FOLDER
    if is_link(folder) or not folder.is_dir():
        return []
    found = [JobFolder(folder / name) for name in list_folder(folder) if JOB_ID.fullmatch(name)]
    return sorted(
        (job for job in found if not is_link(job.path) and job.path.is_dir()),
        key=lambda job: str(job.order().get("created", "")),
        reverse=True,
    )


def _forget_old(root: Path) -> None:
    for job in job_folders(root)[_MOST_KEPT:]:
        if job.result() is not None:
            remove_tree(job.path)
