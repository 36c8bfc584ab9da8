"""Trials and sweeps on Modal, against the server of `modal_server.py`, which executes them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("modal")

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.remote import launch
from gymnast.remote.launch import Wishes
from gymnast.remote.prices import dollars_per_hour
from gymnast.runs.store import RunFolder
from gymnast.trials import modal_executor
from gymnast.trials.modal_executor import ModalExecutor
from gymnast.trials.trial import Trial, TrialState
from remote import small_runs
from remote.modal_server import PENDING, FakeModal
from training.compare_runs import difference, end_of, rows_of

PRESET = "CartPole-v1:ppo"
SETTINGS = {**small_runs.SETTINGS, "budget.env_steps": 20_000}
LONG = {**SETTINGS, "budget.env_steps": 40_000_000}
SMALL = Wishes(cores=1.0, memory=1024)
RATE = dollars_per_hour(1.0, 1024, None)

pytestmark = pytest.mark.timeout(900)


def executor(runs: Path, workers: int = 2, wishes: Wishes = SMALL, **more: Any) -> ModalExecutor:
    return ModalExecutor(workers, runs, wishes=wishes, example=Trial("example", PRESET, SETTINGS), **more)


def until(
    pool: ModalExecutor,
    condition: Callable[[dict[str, TrialState]], Any],
    seen: dict[str, TrialState] | None = None,
) -> dict[str, TrialState]:
    """The last state of each trial, once they are as wanted. `seen`: what was said of them before."""
    seen = {} if seen is None else seen
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        seen |= {state.run_id: state for state in pool.poll(0.5)}
        if condition(seen):
            return seen
    raise AssertionError(f"only {seen}")


def ended(*run_ids: str) -> Callable[[dict[str, TrialState]], bool]:
    return lambda seen: all(run_id in seen and seen[run_id].ended for run_id in run_ids)


@pytest.mark.slow
def test_legs_end_where_they_should_and_a_crash_costs_itself(modal: FakeModal, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with executor(runs) as pool:
        pool.submit(Trial("leg-1", PRESET, SETTINGS, stop_at=8000))
        pool.submit(Trial("long-1", PRESET, LONG))
        with pytest.raises(GymnastError, match="already"):
            pool.submit(Trial("long-1", PRESET, LONG))
        leg = until(pool, ended("leg-1"))["leg-1"]
        assert (leg.status, leg.env_steps) == ("paused", 8192)
        assert RunFolder(runs / "leg-1").origin_path.is_file(), "it came here"

        pool.submit(Trial("leg-1", PRESET, SETTINGS))
        seen = until(pool, lambda seen: seen.get("long-1", TrialState("", "queued")).env_steps)
        psutil = pytest.importorskip("psutil")
        (long,) = [
            call for call in modal.calls.values() if call.status == PENDING and b"long-1" in wanted(call)
        ]
        for child in psutil.Process(long.process.pid).children():
            child.kill()
        until(pool, ended("leg-1", "long-1"), seen)
        assert seen["leg-1"].status == "finished"
        assert (seen["long-1"].status, "killed" in seen["long-1"].message) == ("lost", True)
        assert long.containers == 1, "whoever ordered it decides what is next"

        pool.submit(Trial("long-1", PRESET, LONG))
        until(pool, lambda seen: seen.get("long-1", TrialState("", "queued")).env_steps)
        pool.stop("long-1")
        assert until(pool, ended("long-1"))["long-1"].status == "stopped"
    whole = api.train(PRESET, overrides=SETTINGS, runs_dir=tmp_path / "whole")
    pulled = api.Run(RunFolder(runs / "leg-1"), whole.outcome)
    assert difference(rows_of(whole), rows_of(pulled)) is None
    assert difference(end_of(whole), end_of(pulled)) is None
    assert not list((runs / ".remote").iterdir()), "nothing is noted of what came here"
    assert modal.missing == []


def wanted(call: Any) -> bytes:
    return bytes(call.input.args)


@pytest.mark.slow
def test_a_second_driver_finds_what_the_first_ordered(modal: FakeModal, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = executor(runs, 1)
    first.submit(Trial("one", PRESET, LONG))
    first.submit(Trial("two", PRESET, SETTINGS))
    del first  # its process was killed: nothing is closed
    with executor(runs) as second:
        second.submit(Trial("one", PRESET, LONG))
        second.submit(Trial("two", PRESET, SETTINGS))
        assert until(second, ended("two"))["two"].status == "finished"
        assert len(modal.calls) == 2, "each was ordered once"
        second.submit(Trial("two", PRESET, SETTINGS))
        assert until(second, ended("two"))["two"].status == "finished"
        assert len(modal.calls) == 2, "what is done is only brought"
    assert all(call.status != PENDING for call in modal.calls.values()), "closed: saved and ended"
    assert (runs / "one" / "run.json").is_file()


@pytest.mark.slow
def test_a_sweep_survives_its_driver_and_gives_what_it_gives_here(modal: FakeModal, tmp_path: Path) -> None:
    settings = {**SETTINGS, "eval.every": 4000, "eval.episodes": 3, "budget.env_steps": 12_000}
    options = ["--trials", "2", "--method", "random", "--race-seeds", "0", "--test-seeds", "1", "--no-prune"]
    words = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    command = [sys.executable, "-m", "gymnast", "sweep"]
    runs = tmp_path / "runs"
    where = ["--runs-dir", str(runs), "--plain"]
    machine = ["--on", "modal", "--workers", "2", "--max-cost", "1", "--cores", "1", "--memory", "1024"]
    driver = subprocess.Popen(
        [*command, PRESET, *words, *options, *machine, *where], stderr=subprocess.PIPE, text=True
    )
    modal.wait_for(lambda: len(modal.calls) >= 2)
    driver.send_signal(signal.SIGKILL)
    said = driver.communicate()[1]
    assert "runs of CartPole-v1:ppo on Modal, 2 at once: 1 cores, 1 GiB" in said
    assert "per hour" in said
    assert "$1.00 at most" in said
    done = subprocess.run(
        [*command, "resume", "@last", *where[:2], "--json"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    here = api.sweep(
        PRESET, overrides=settings, trials=2, workers=2, method="random", race_seeds=0, test_seeds=1,
        prune=False, runs_dir=tmp_path / "here",
    ).to_json(trials=True)  # fmt: skip
    assert values_of(there) == values_of(here)
    assert there["verdict"]["text"] == here["verdict"]["text"]
    assert len(modal.calls) == there["runs"], "no run was ordered twice"
    assert all((runs / run_id / "run.json").is_file() for run_id in run_ids(there))


def values_of(found: dict[str, Any]) -> list[Any]:
    return [[run["value"] for run in trial["runs"]] for trial in found["all_trials"]]


def run_ids(found: dict[str, Any]) -> list[str]:
    return [run["run_id"] for trial in found["all_trials"] for run in trial["runs"]]


@pytest.mark.slow
def test_the_money_is_a_limit_of_all_runs_together(
    modal: FakeModal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modal_executor, "LEAST_SECONDS", 3.0)
    monkeypatch.setattr(launch, "LEAST_SECONDS", 3.0)
    most = RATE * 20 / 3600
    found = api.sweep(
        PRESET, overrides={**LONG, "eval.every": 1_000_000}, on="modal", trials=3, workers=2, method="random",
        max_cost=most, cores=1.0, memory=1024, runs_dir=tmp_path / "runs",
    )  # fmt: skip
    assert found.state.status == "interrupted"
    assert "are spent" in found.state.reason
    assert all(call.status != PENDING for call in modal.calls.values())
    seconds = sum(
        json.loads(path.read_text())["seconds"] for path in (modal.committed / ".remote").glob("*.json")
    )
    assert seconds > 14
    with pytest.raises(GymnastError, match="are spent; give --max-cost more"):
        api.resume_sweep(runs_dir=tmp_path / "runs")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "L5"}, r"--gpu L5: not a GPU of Modal"),
        ({"max_cost": 0.0001}, "pays for 7 s of this machine"),
        (
            {"overrides": {**SETTINGS, "env.kwargs": {"render_mode": "${NOT_SET}"}}},
            "no environment variable NOT_SET",
        ),
        ({"on": "local", "max_cost": 1.0}, "--max-cost is for --on modal; leave it out"),
    ],
)
def test_a_sweep_that_cannot_be_there(
    modal: FakeModal, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    given = {"overrides": SETTINGS, "on": "modal", "cores": 1.0, "memory": 1024, "method": "random"} | options
    if given["on"] == "local":
        del given["cores"], given["memory"]
    given["overrides"] = {**given["overrides"], "eval.every": 4000}
    with pytest.raises(GymnastError, match=message) as caught:
        api.sweep(PRESET, runs_dir=tmp_path / "runs", **given)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "runs").exists()
    assert modal.function is None


def test_a_sweep_needs_a_token(modal: FakeModal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODAL_TOKEN_SECRET", "as-wrong")
    with pytest.raises(GymnastError, match="modal token new"):
        api.sweep(PRESET, on="modal", method="random", runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
