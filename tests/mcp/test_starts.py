"""No more trainings at a time than whoever started the server allows."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.mcp.serving import Serving
from gymnast.mcp.starts import Starts
from mcp_clients import NEVER_SOLVED, Failed, begun, call

pytestmark = pytest.mark.timeout(300)  # a busy machine


def test_only_so_many_trainings(tmp_path: Path) -> None:
    serving = Serving(runs_dir=tmp_path, most_running=1)
    order = {"reference": "CartPole-v1:ppo", "overrides": NEVER_SOLVED, "max_env_steps": "5M"}
    started = call(serving, "start_training", **order, wall_time=60)
    try:
        with pytest.raises(Failed, match=r"1 runs are being trained already \(\w+"):  # or being started
            call(serving, "start_training", reference="CartPole-v1:ppo")
    finally:
        run = begun(serving, started)["run"]
        call(serving, "stop_training", run=run)
    assert [entry.id for entry in api.list_runs(runs_dir=tmp_path)] == [run]


def test_trainings_that_are_being_started_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many calls at once start no more than are allowed, though none has a run yet."""
    released = threading.Event()

    def slow(**order: Any) -> Any:
        assert released.wait(60)
        raise GymnastError("it was never meant to train")

    monkeypatch.setattr("gymnast.api.start_detached", slow)
    starts = Starts(Serving(runs_dir=tmp_path, most_running=2))
    for _ in range(2):
        assert starts.begin({}, called=0.0)[1] == "starting"
    with pytest.raises(GymnastError, match=r"2 runs are being trained already \(2 being started\)"):
        starts.begin({}, called=0.0)
    released.set()
    until = time.monotonic() + 60
    while "already" in (said := _begun_or_refused(starts)) and time.monotonic() < until:
        time.sleep(0.02)  # until those that failed have made room
    assert said in ("starting", "it was never meant to train")


def test_a_run_that_is_being_resumed_is_not_the_run_that_ended(
    trained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it trains again its state is starting, by its id as by any other name; then why it failed."""
    released = threading.Event()

    def slow(**order: Any) -> Any:
        assert released.wait(100)
        raise GymnastError("there is no room for it")

    monkeypatch.setattr("gymnast.api.start_detached", slow)
    serving, run = trained.serving, trained.bad
    try:
        assert call(serving, "resume_training", run=run, max_env_steps="1M")["run"] == run
        for name in (run, run[:6]):
            now = call(serving, "watch_run", run=name, wait_seconds=0)
            assert (now["run"], now["state"]) == (run, "starting")
        with pytest.raises(Failed, match=f"run {run} is being resumed already: follow it with watch_run"):
            call(serving, "resume_training", run=run)
        with pytest.raises(Failed, match=f"run {run} is being resumed: watch_run says when it trains"):
            call(serving, "stop_training", run=run)
    finally:
        released.set()
    with pytest.raises(Failed, match="there is no room for it"):
        call(serving, "watch_run", run=run, wait_seconds=45)
    assert call(serving, "watch_run", run=run, wait_seconds=0)["state"] == "finished"  # as it was


def test_a_run_that_is_resumed_is_watched_as_before(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def slow(resume: str, **order: Any) -> Any:
        assert released.wait(100)
        return api.find_run(resume, runs_dir=trained.serving.runs_dir)

    monkeypatch.setattr("gymnast.api.start_detached", slow)
    serving, run = trained.serving, trained.bad
    assert call(serving, "resume_training", run=run, max_env_steps="1M")["state"] == "starting"
    released.set()
    assert call(serving, "watch_run", run=run, wait_seconds=45)["changed"] == "the training has begun"
    assert call(serving, "watch_run", run=run, wait_seconds=0)["changed"] == "the run is finished"


def _begun_or_refused(starts: Starts) -> str:
    try:
        return starts.begin({}, called=0.0)[1]
    except GymnastError as error:
        return str(error)
