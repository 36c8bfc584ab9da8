"""Jobs: work in a process of its own, whose end and whose failure are both known to whoever asks later."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs.jobs import create_job, job_folders, open_job
from mcp_clients import call

pytestmark = pytest.mark.timeout(300)  # a busy machine


def ended(job: str, runs_dir: Path, seconds: float = 110) -> api.Job:
    until = time.monotonic() + seconds
    while (now := api.read_job(job, runs_dir=runs_dir)).state == "working" and time.monotonic() < until:
        time.sleep(0.1)
    return now


def test_a_job_works_and_is_remembered(trained: Any) -> None:
    folder = trained.serving.runs_dir
    job = api.start_job("evaluate", trained.good, {"reference": trained.good, "episodes": 2}, runs_dir=folder)
    assert job.state == "working"
    done = ended(job.id, folder)
    assert (done.state, done.result and done.result["episodes"]) == ("done", 2)
    assert job.id in [one.id for one in api.list_jobs(runs_dir=folder)]


def test_a_job_that_is_killed_has_failed(trained: Any) -> None:
    folder = trained.serving.runs_dir
    order = {"reference": trained.good, "episodes": 100_000}
    job = api.start_job("evaluate", trained.good, order, runs_dir=folder)
    process = _process(folder, job.id)
    os.killpg(process.pid, signal.SIGKILL)
    failed = ended(job.id, folder)
    assert (failed.state, failed.error) == ("failed", "its process was killed")
    with pytest.raises(GymnastError, match="does not work any more"):
        api.stop_job(job.id, runs_dir=folder)


def test_a_job_can_be_stopped(trained: Any) -> None:
    folder = trained.serving.runs_dir
    order = {"reference": trained.good, "episodes": 100_000}
    job = api.start_job("evaluate", trained.good, order, runs_dir=folder)
    process = _process(folder, job.id)
    assert api.stop_job(job.id, runs_dir=folder).state == "stopped"
    assert process.is_dead()


def test_a_wrong_order_fails_with_its_message(trained: Any) -> None:
    folder = trained.serving.runs_dir
    order = {"reference": trained.good, "episodes": 0}
    failed = ended(api.start_job("evaluate", trained.good, order, runs_dir=folder).id, folder)
    assert (failed.state, failed.error) == ("failed", "episodes must be at least 1, got 0")
    with pytest.raises(GymnastError, match="no kind of job 'evaluat'"):
        api.start_job("evaluat", trained.good, {}, runs_dir=folder)


def test_an_error_inside_a_job_leaks_nothing(trained: Any, tmp_path: Path) -> None:
    """Of a crash its text and its output are the user's; a model hears that there was one."""
    job = create_job(trained.serving.runs_dir, {"kind": "evaluate", "created": "2026"})
    job.output_path.write_text("Traceback: the secret inside\n")
    job.finish({"error": "unexpected RuntimeError: the secret inside (their/x.py)", "crashed": True})
    assert "secret" in str(api.read_job(job.id, runs_dir=trained.serving.runs_dir).error)
    shown = call(trained.serving, "watch_job", job=job.id)
    assert shown["state"] == "failed"
    assert "failed by an error inside" in shown["error"]
    assert "secret" not in str(shown)


def test_a_crash_in_a_job_is_marked_as_one(trained: Any) -> None:
    folder = trained.serving.runs_dir
    wrong = {"reference": trained.good, "no_such_argument": 1}
    failed = ended(api.start_job("evaluate", trained.good, wrong, runs_dir=folder).id, folder)
    assert (failed.state, failed.crashed) == ("failed", True)


@pytest.mark.parametrize("name", ["", "..", "job-../../ab", "/etc", "job-ABCDEFGH", "job-aaaaaaaa"])
def test_jobs_are_looked_up_by_their_exact_names(tmp_path: Path, name: str) -> None:
    create_job(tmp_path, {"kind": "evaluate", "created": "2026"})
    with pytest.raises(GymnastError, match="no job"):
        open_job(tmp_path, name)


def test_links_among_jobs_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    job = create_job(tmp_path / "runs", {"kind": "evaluate", "created": "2026"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (job.path.parent / "job-aaaaaaaa").symlink_to(elsewhere)
    assert [one.id for one in job_folders(tmp_path / "runs")] == [job.id]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".jobs").symlink_to(elsewhere)
    assert job_folders(tmp_path / "other") == []
    with pytest.raises(GymnastError, match="is a link"):
        create_job(tmp_path / "other", {})


def test_the_oldest_jobs_make_room(tmp_path: Path) -> None:
    for number in range(103):
        create_job(tmp_path, {"created": f"{number:04d}"}).finish({"result": {}})
    kept = [job.order()["created"] for job in job_folders(tmp_path)]
    assert len(kept) == 101
    assert kept[0] == "0102"
    assert "0000" not in kept


def _process(folder: Path, job: str) -> Any:
    until = time.monotonic() + 90
    while (process := open_job(folder, job).process()) is None and time.monotonic() < until:
        time.sleep(0.02)
    assert process is not None
    return process
