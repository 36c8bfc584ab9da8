"""Work that takes a while (evaluations, videos, a page to look at a run) in a process that outlives its
caller.

A job has an id, and its files lie in the runs folder (runs/jobs.py): whoever comes later, another process
too, reads how it went.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymnast.errors import GymnastError, RunFailed, did_you_mean
from gymnast.processes.identity import own_identity
from gymnast.processes.start import start_detached as start_process
from gymnast.redact import redact
from gymnast.runs.files import open_append
from gymnast.runs.jobs import JobFolder, create_job, job_folders, open_job
from gymnast.runs.store import now, runs_root

_ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\]):\d+\S*")
_SWEEP = re.compile(r"^sweep ([a-z][a-z0-9]{3,11}) is worked on$", re.MULTILINE)
State = Literal["working", "done", "failed", "stopped"]
_LAST_CHARACTERS = 2000  # of what a failed job printed
_STARTS_WITHIN = 30.0  # seconds; a process that has not announced itself by then never will
_LEAVES_WITHIN = 3.0


@dataclass(frozen=True, slots=True)
class Job:
    """Work in a process of its own, as it stands now."""

    id: str
    kind: str
    run: str
    state: State
    created: str
    result: dict[str, Any] | None = None
    error: str | None = None
    output: str = ""  # the end of what it printed
    crashed: bool = False  # failed by an error that nobody foresaw, not by what it was asked


def start_job(
    kind: str, run: str, arguments: Mapping[str, Any], *, runs_dir: str | Path | None = None
) -> Job:
    """Start one of KINDS and return at once. `arguments` are plain data: the api's own, by name."""
    if os.name != "posix":
        raise GymnastError("a job in the background needs Linux or macOS")
    if kind not in KINDS:
        raise GymnastError(f"no kind of job {kind!r}{did_you_mean(kind, KINDS)}")
    root = runs_root(runs_dir)
    order = {"kind": kind, "run": run, "created": now(), "arguments": dict(arguments)}
    job = create_job(root, order)
    with open_append(job.output_path) as output:
        process = start_process(f"{__name__}:main", (), (str(root.resolve()), job.id), output=output)
    threading.Thread(target=process.wait, daemon=True).start()  # or it stays in the process table
    return _read(job)


def read_job(job: str, *, runs_dir: str | Path | None = None) -> Job:
    """How a job stands."""
    return _read(open_job(runs_root(runs_dir), job))


def list_jobs(*, runs_dir: str | Path | None = None) -> list[Job]:
    """All jobs that are remembered, the newest first."""
    return [_read(job) for job in job_folders(runs_root(runs_dir))]


def stop_job(job: str, *, runs_dir: str | Path | None = None) -> Job:
    """End a job that works, with all that it started."""
    folder = open_job(runs_root(runs_dir), job)
    process = folder.process()
    if _read(folder).state != "working" or process is None:
        raise GymnastError(f"job {job} does not work any more: it is {_read(folder).state}")
    if process.started is None:  # the number alone does not prove which process it is
        raise GymnastError(f"job {job} cannot be stopped from here: end process {process.pid} yourself")
    deadline = time.monotonic() + _LEAVES_WITHIN
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
        while not process.is_dead() and time.monotonic() < deadline:
            time.sleep(0.05)
        if not process.is_dead():
            os.killpg(process.pid, signal.SIGKILL)
    if folder.result() is None:
        folder.finish({"stopped": True})
    return _read(folder)


def job_address(job: str, *, runs_dir: str | Path | None = None) -> str:
    """The address of a page that a job serves on this machine, as it printed it; empty before it has."""
    found = _ADDRESS.search(open_job(runs_root(runs_dir), job).output())
    return found[0] if found else ""


def job_sweep(job: str, *, runs_dir: str | Path | None = None) -> str:
    """The id of the sweep that a job works on, as it printed it; empty before it has."""
    found = _SWEEP.search(open_job(runs_root(runs_dir), job).output())
    return found[1] if found else ""


def _read(job: JobFolder) -> Job:
    order, result, process = job.order(), job.result(), job.process()
    said: dict[str, Any] = {
        "id": job.id,
        "kind": str(order.get("kind", "")),
        "run": str(order.get("run", "")),
    }
    said["created"] = str(order.get("created", ""))
    if result is None and (_never_began(order) if process is None else process.is_dead()):
        result = job.result() or {"error": "its process was killed"}  # it may have ended just now
    if result is None:
        return Job(**said, state="working", output=redact(job.output())[-_LAST_CHARACTERS:])
    if result.get("stopped"):
        return Job(**said, state="stopped")
    if "error" in result:
        output = redact(job.output())[-_LAST_CHARACTERS:]
        crashed = result.get("crashed") is True
        return Job(**said, state="failed", error=str(result["error"]), output=output, crashed=crashed)
    return Job(**said, state="done", result=result.get("result"))


def _never_began(order: Mapping[str, Any]) -> bool:
    from datetime import datetime

    try:
        began = datetime.fromisoformat(str(order.get("created")))
        return (datetime.fromisoformat(now()) - began).total_seconds() > _STARTS_WITHIN
    except (ValueError, TypeError):
        return True


def main(root: str, job_id: str) -> None:
    """What runs inside the process."""
    from gymnast.terminal.crash import crash_message

    job = open_job(Path(root), job_id)
    job.announce(own_identity())
    order = job.order()
    try:
        result = KINDS[order["kind"]](order["arguments"], root)
    except GymnastError as error:
        job.finish({"error": redact(str(error))})
        sys.exit(error.exit_code)
    except Exception as error:
        job.finish({"error": redact(crash_message(error)), "crashed": True})
        sys.exit(RunFailed.exit_code)
    job.finish({"result": result})


def _evaluate(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    from gymnast.api.evaluation import evaluate

    return evaluate(**arguments, runs_dir=root).to_json()


def _video(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    from gymnast.api.video import record_video

    return record_video(**arguments, runs_dir=root).to_json()


def _progress_video(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    from gymnast.api.video import progress_video

    return progress_video(**arguments, runs_dir=root).to_json()


def _steps(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    from gymnast.api.report import rollout_table

    return {"path": str(rollout_table(**arguments, runs_dir=root))}


def _publish(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    from gymnast.api.publishing import publish_run

    return publish_run(**arguments, runs_dir=root).to_json()


def _inspect(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    """Serves until it is stopped."""
    from gymnast.api.inspector import inspect_runs

    if isinstance(sys.stdout, io.TextIOWrapper):  # the address is read as soon as it is printed
        sys.stdout.reconfigure(line_buffering=True)
    inspect_runs(arguments["run"], runs_dir=root, port=arguments["port"], browser=False)
    return {}


def _sweep(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    """Its id is printed as soon as there is one. `most_workers` bounds the runs at a time."""
    from gymnast.api.sweeping import Sweep, resume_sweep, sweep
    from gymnast.envs.measure.cache import usable_cores
    from gymnast.terminal.text import echo

    announced = False
    workers = min(usable_cores(), arguments.pop("most_workers"))

    def announce(now: Sweep) -> None:
        nonlocal announced
        if not announced:
            echo(f"\nsweep {now.id} is worked on")
            sys.stdout.flush()
            announced = True

    if "resume" in arguments:
        found = resume_sweep(arguments["resume"], workers=workers, runs_dir=root, watch=announce)
    else:
        found = sweep(**arguments, workers=workers, runs_dir=root, watch=announce)
    return {"sweep": found.id}


KINDS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "evaluate": _evaluate,
    "video": _video,
    "progress_video": _progress_video,
    "steps": _steps,
    "publish": _publish,
    "inspect": _inspect,
    "sweep": _sweep,
}
