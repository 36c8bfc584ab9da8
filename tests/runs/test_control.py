"""Runs controlled from another process: real detached trainings, real kills."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.api.detached import DetachedRun, start_detached
from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs import control
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.registry import entries, entry_of
from gymnast.runs.store import RunFolder
from gymnast.runs.trainer import Announced, ask, is_training, read_trainer

ENDLESS = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "policy.hidden": [8],
    "algo.n_steps": 16,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
    "eval.every": 0,
    "stop.eval_return": None,
    "budget.env_steps": 100_000_000,
}


@pytest.fixture
def detached(tmp_path: Path) -> Iterator[Callable[..., RunFolder]]:
    """`detached(key=value)` starts an endless run; all that still train at the end are killed."""
    started: list[DetachedRun] = []

    def start(reference: str = "CartPole-v1:ppo", **changes: Any) -> RunFolder:
        overrides = ENDLESS | {key.replace("__", "."): value for key, value in changes.items()}
        run = start_detached(reference, overrides=overrides, runs_dir=tmp_path / "runs")
        started.append(run)
        return RunFolder(run.path)

    yield start
    for run in started:
        trainer = read_trainer(RunFolder(run.path))
        if trainer is not None and is_training(RunFolder(run.path)):
            os.kill(trainer.process.pid, signal.SIGKILL)


def gymnast(runs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words, "--runs-dir", str(runs)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def updates(run: RunFolder) -> int:
    return len(read_metrics(run.metrics_path)) if run.metrics_path.exists() else 0


def test_detached_run_is_paused_resumed_saved_stopped_and_continued(
    detached: Callable[..., RunFolder],
) -> None:
    run = detached()
    assert is_training(run)
    wait_for(lambda: updates(run) > 3)
    for _ in range(2):  # pausing twice stays paused
        assert control.pause(run).paused
    (entry,) = entries(run.root)
    assert (entry.status, entry.paused) == ("running", True)
    stands = updates(run)
    time.sleep(0.5)
    assert updates(run) == stands, "it waits"
    saved = control.checkpoint(run)
    assert saved == stands * 64 == list_checkpoints(run)[-1].env_steps
    for _ in range(2):  # so does resuming
        assert not control.resume_paused(run).paused
    wait_for(lambda: updates(run) > stands)
    later = control.checkpoint(run)
    assert saved < (later or 0)
    ended = control.stop(run)
    assert (ended.status, ended.reason, ended.paused) == ("interrupted", "stopped on request", False)
    assert not is_training(run)
    assert list_checkpoints(run)[-1].env_steps == ended.env_steps == updates(run) * 64
    assert not run.process_path.exists()
    assert list(run.requests.iterdir()) == []
    assert "paused" not in run.status_path.read_text()
    again = start_detached(
        resume=run.id, max_env_steps=ended.env_steps + 640, runs_dir=run.root, overrides={"seed": 0}
    )
    assert again.id == run.id
    wait_for(lambda: not is_training(run))
    assert entry_of(run).status == "finished"
    assert [row["time/updates"] for row in read_metrics(run.metrics_path)] == list(range(1, updates(run) + 1))
    log = run.console_path.read_text()
    assert log.index("stopped on request and saved") < log.index("finished (")
    assert f"paused: gymnast runs resume {run.id}" in log


def test_run_is_evaluated_on_request(detached: Callable[..., RunFolder]) -> None:
    run = detached(eval__episodes=2)
    wait_for(lambda: updates(run) > 3)
    found = control.evaluate(run)
    assert found is not None
    assert found.env_steps % 64 == 0
    assert api.show_run(run.path).evals == (found,), "eval.every is 0: it evaluates only when asked"
    assert control.evaluate(run, wait=False) is None
    wait_for(lambda: len(api.show_run(run.path).evals) == 2)
    control.pause(run)
    assert control.evaluate(run, wait=False) is None
    time.sleep(0.5)
    assert len(api.show_run(run.path).evals) == 2, "a paused run waits"
    control.resume_paused(run)
    wait_for(lambda: len(api.show_run(run.path).evals) == 3)
    done = gymnast(run.root, "runs", "evaluate", run.id, "--json")
    assert json.loads(done.stdout)["evaluation"]["score"] > 0
    assert "was evaluated at step" in gymnast(run.root, "runs", "evaluate", run.id).stdout
    control.stop(run)
    with pytest.raises(GymnastError, match="not being trained"):
        control.evaluate(run)


def test_paused_run_stops(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    control.pause(run)
    stands = updates(run)
    assert control.stop(run).status == "interrupted"
    assert updates(run) == stands
    assert list_checkpoints(run)[-1].env_steps == stands * 64


@pytest.mark.slow
def test_control_changes_nothing_that_is_learnt(detached: Callable[..., RunFolder], tmp_path: Path) -> None:
    run = detached(budget__env_steps=64 * 500, checkpoint__seconds=0)
    control.pause(run)
    control.checkpoint(run)
    control.resume_paused(run)
    wait_for(lambda: not is_training(run))
    alone = api.train(
        "CartPole-v1:ppo",
        overrides=ENDLESS | {"budget.env_steps": 64 * 500},
        runs_dir=tmp_path / "alone",
    )
    clock = ("time/seconds", "time/fps", "time/collect_seconds", "time/update_seconds")
    rows, expected = (
        [{key: value for key, value in row.items() if key not in clock} for row in read_metrics(path)]
        for path in (run.metrics_path, alone.folder.metrics_path)
    )
    assert rows == expected


def test_killed_run_is_not_running_whoever_has_its_number_now(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    wait_for(lambda: updates(run))
    trainer = read_trainer(run)
    assert trainer is not None
    os.kill(trainer.process.pid, signal.SIGKILL)
    wait_for(lambda: not is_training(run))
    (entry,) = entries(run.root)
    assert (entry.status, entry.reason, entry.paused) == ("interrupted", "killed", False)
    assert run.process_path.exists(), "nobody was left to remove it"
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        told = json.loads(run.process_path.read_text())
        run.process_path.write_text(json.dumps({**told, "pid": bystander.pid, "paused": True}))
        for command in ("stop", "pause", "resume", "checkpoint"):
            done = gymnast(run.root, "runs", command, run.id)
            assert done.returncode == 2
            assert f"run {run.id} is not being trained: it is interrupted (killed)" in done.stderr
            assert "Traceback" not in done.stderr
        assert not entry_of(run).paused
        assert bystander.poll() is None, "it got no signal"
        assert not run.requests.exists()
    finally:
        bystander.kill()
        bystander.wait()


def test_lock_alone_is_not_taken_for_a_training_if_its_process_is_known_to_be_dead(tmp_path: Path) -> None:
    """What a killed process started, or somebody who looks at the lock, may hold it for a moment."""
    run = api.train("CartPole-v1:ppo", overrides=ENDLESS | {"budget.env_steps": 64}, runs_dir=tmp_path).folder
    code = (
        "import sys; from pathlib import Path\n"
        "from gymnast.runs.store import RunFolder; from gymnast.runs.trainer import Announced\n"
        "Announced(RunFolder(Path(sys.argv[1])))\n"
    )
    with run.lock():
        assert is_training(run), "it has not said yet who it is"
        subprocess.run([sys.executable, "-c", code, str(run.path)], check=True)
        assert run.process_path.exists()
        assert run.is_locked()
        assert not is_training(run)
        with pytest.raises(GymnastError, match="is not being trained: it is finished"):
            control.stop(run)
    with run.lock(to_train=False):
        assert not is_training(run)
    with run.lock():
        assert not run.process_path.exists(), "the next one begins with a clean slate"


def test_two_askers_at_once_are_both_answered(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(control.checkpoint, [run] * 8))
        assert all(steps is not None and steps > 0 for steps in saved)
        ended = list(pool.map(lambda ask: ask(run), [control.stop, control.stop]))
    assert {entry.status for entry in ended} == {"interrupted"}


def test_of_opposite_requests_the_later_counts(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    control.pause(run, wait=False)
    assert not control.resume_paused(run).paused
    control.resume_paused(run, wait=False)
    assert control.pause(run).paused


def test_request_counts_once_and_only_for_the_training_it_was_meant_for(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", overrides=ENDLESS | {"budget.env_steps": 64}, runs_dir=tmp_path).folder
    with run.lock():
        announced = Announced(run)
        trainer = read_trainer(run)
        assert trainer is not None
        assert trainer.process.pid == os.getpid()
        stale = ask(run, "an earlier one", "stop")
        asked = [ask(run, trainer.token, word) for word in ("pause", "checkpoint")]
        (run.requests / "torn.json").write_text("{")
        assert announced.take() == ["pause", "checkpoint"]
        assert asked[0].is_waiting(), "taken, but not acted on yet"
        assert announced.take() == []
        assert not any(request.is_waiting() for request in (stale, *asked))
        assert list(run.requests.iterdir()) == []
        announced.withdraw()
    assert not run.process_path.exists()


def test_request_left_behind_does_not_stop_the_next_training(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    trainer = read_trainer(run)
    assert trainer is not None
    control.stop(run)
    late = ask(run, trainer.token, "stop")
    start_detached(resume=run.id, runs_dir=run.root)
    wait_for(lambda: not late.is_waiting())
    stands = updates(run)
    wait_for(lambda: updates(run) > stands)
    control.stop(run)


def test_run_that_does_not_answer_in_time_is_reported(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    trainer = read_trainer(run)
    assert trainer is not None
    os.kill(trainer.process.pid, signal.SIGSTOP)  # as a very long update
    try:
        with pytest.raises(GymnastError, match=r"did not stop within 0\.5 s; the request stands") as error:
            control.stop(run, timeout=0.5)
        assert error.value.exit_code == 1
        with pytest.raises(GymnastError, match="timeout must be more than 0"):
            control.pause(run, timeout=0)
    finally:
        os.kill(trainer.process.pid, signal.SIGCONT)
    wait_for(lambda: not is_training(run))
    assert entry_of(run).reason == "stopped on request"


def test_watching_gives_every_row_once_until_the_end(detached: Callable[..., RunFolder]) -> None:
    run = detached(budget__env_steps=64 * 600, eval__every=64 * 150, eval__episodes=1)
    heard: list[bool] = []

    def on_pause(paused: bool) -> None:
        heard.append(paused)
        if paused:
            control.resume_paused(run, wait=False)

    rows = []
    for row in control.watch(run, from_start=True, every=0.02, on_pause=on_pause):
        rows.append(row)
        if len(rows) == 1:
            control.pause(run, wait=False)
    assert heard == [True, False]
    assert [row["time/updates"] for row in rows] == list(range(1, 601))
    assert rows == read_metrics(run.metrics_path)
    (last,) = control.watch(run)
    assert last["time/updates"] == 600


@pytest.mark.slow
def test_failed_start_is_one_message_and_leaves_nothing(tmp_path: Path) -> None:
    for words, message in (
        (["CartPol-v1:ppo"], "unknown environment 'CartPol-v1' (did you mean 'CartPole-v1'"),
        (["CartPole-v1:ppo", "algo.lrr=1"], "algo.lrr: unknown key (did you mean 'lr'?)"),
        (["--resume", "@last"], "there are no runs in"),
    ):
        done = gymnast(tmp_path / "runs", "train", *words, "--detach")
        assert done.returncode == 2
        assert done.stdout == ""
        assert re.fullmatch(rf"error: .*{re.escape(message)}.*", done.stderr.strip())
    assert not (tmp_path / "runs").exists()
    with pytest.raises(GymnastError, match="one of the two"):
        start_detached()


def test_process_that_dies_before_its_run_stands_is_reported(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, gymnasium as gym\n"
        "class Dying(gym.Env):\n"
        "    def __init__(self):\n"
        "        print('the engine is on fire', flush=True)\n"
        "        os.abort()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(GymnastError, match=r"was killed by SIGABRT(\n.*)*the engine is on fire") as error:
        start_detached("dying:Dying", overrides={"env.backend": "sync"}, runs_dir=tmp_path / "runs")
    assert error.value.exit_code == 1


@pytest.mark.slow
def test_command_line_starts_controls_and_watches(tmp_path: Path) -> None:
    settings = [f"{key}={json.dumps(value)}" for key, value in ENDLESS.items()]
    done = gymnast(tmp_path, "train", "CartPole-v1:ppo", *settings, "--detach", "--json")
    assert done.returncode == 0, done.stderr
    started = json.loads(done.stdout)
    assert started.keys() == {"id", "path", "pid"}
    run = RunFolder(Path(started["path"]))
    trainer = read_trainer(run)
    assert trainer is not None
    try:
        assert trainer.process.pid == started["pid"]
        assert os.getsid(started["pid"]) == started["pid"], "it has a session of its own"
        assert "--detach" in run.info()["command"]

        watcher = subprocess.Popen(
            [sys.executable, "-m", "gymnast", "runs", "watch", run.id, "--json", "--runs-dir", str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert watcher.stdout is not None
        first = json.loads(watcher.stdout.readline())
        assert json.loads(watcher.stdout.readline())["time/updates"] == first["time/updates"] + 1

        done = gymnast(tmp_path, "runs", "pause", "@last")
        assert (done.returncode, done.stdout) == (0, f"run {run.id} is paused\n")
        assert "paused" in gymnast(tmp_path, "runs", "list").stdout
        assert json.loads(gymnast(tmp_path, "runs", "show", run.id, "--json").stdout)["run"]["paused"] is True
        done = gymnast(tmp_path, "runs", "checkpoint", run.id[:5], "--json")
        assert json.loads(done.stdout) == {"id": run.id, "env_steps": updates(run) * 64}
        done = gymnast(tmp_path, "runs", "resume", str(run.path))
        assert (done.returncode, done.stdout) == (0, f"run {run.id} is training\n")
        done = gymnast(tmp_path, "runs", "stop", "@last", "--timeout", "1m")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"run {run.id} was interrupted (stopped on request) at step ")
        rest, _ = watcher.communicate(timeout=20)
        assert watcher.returncode == 3, "the exit code is that of the training"
        assert json.loads(rest.splitlines()[-1])["time/updates"] == updates(run)
        done = gymnast(tmp_path, "runs", "watch", "@last")
        assert done.returncode == 3
        assert "was interrupted (stopped on request)" in done.stdout.splitlines()[-1]
    finally:
        if is_training(run):
            os.kill(started["pid"], signal.SIGKILL)


def test_leaving_the_watch_leaves_the_run_alone(detached: Callable[..., RunFolder]) -> None:
    run = detached()
    command = [sys.executable, "-m", "gymnast", "runs", "watch", str(run.path)]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watcher.stdout is not None
    assert run.id in watcher.stdout.readline()
    time.sleep(0.5)
    watcher.send_signal(signal.SIGINT)
    _, said = watcher.communicate(timeout=20)
    assert watcher.returncode == 130
    assert f"gymnast runs stop {run.id}\n" in said
    stands = updates(run)
    wait_for(lambda: updates(run) > stands)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stop", "nope"], "no run 'nope'"),
        (["pause", "@last", "--timeout", "0"], "use --no-wait"),
        (["pause", "@last", "--timeout", "soon"], "'soon' is not a duration"),
    ],
)
def test_wrong_words_are_one_message(tmp_path: Path, words: list[str], message: str) -> None:
    api.train("CartPole-v1:ppo", overrides=ENDLESS | {"budget.env_steps": 64}, runs_dir=tmp_path)
    done = gymnast(tmp_path, "runs", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
