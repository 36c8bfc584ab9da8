"""`gymnast train REF --run-id ID --continue` may be given again and again, whatever happened before."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError, RunFailed
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.store import open_run, run_folders
from gymnast.training.run.start_or_continue import outcome_of
from remote import small_runs
from training.compare_runs import difference, end_of, rows_of

REFERENCE = "CartPole-v1:ppo"
SETTINGS = {**small_runs.SETTINGS, "eval.every": 10_000, "eval.episodes": 3, "checkpoint.every": 1000}


def words(runs: Path, *more: str, env_steps: str = "8k", run_id: str = "job-1") -> list[str]:
    settings = [f"{key}={json.dumps(value)}" for key, value in SETTINGS.items()]
    budget = [
        "--max-env-steps",
        env_steps,
        "--run-id",
        run_id,
        "--continue",
        "--runs-dir",
        str(runs),
        "--json",
    ]
    return [sys.executable, "-m", "gymnast", "train", REFERENCE, *settings, *budget, *more]


def gymnast(runs: Path, *more: str, **how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words(runs, *more, **how), check=False, capture_output=True, text=True, timeout=400)


def train(runs: Path, env_steps: int = 4000, run_id: str = "job-1", **options: Any) -> api.Run:
    return api.train(
        REFERENCE,
        overrides={**SETTINGS, **options.pop("overrides", {})},
        max_env_steps=env_steps,
        run_id=run_id,
        continued=True,
        runs_dir=runs,
        **options,
    )


def as_run(runs: Path, run_id: str = "job-1") -> api.Run:
    folder = open_run(runs, run_id)
    return api.Run(folder, outcome_of(registry.entry_of(folder)))


def assert_same(first: api.Run, second: api.Run) -> None:
    assert difference(rows_of(first), rows_of(second)) is None
    assert difference(end_of(first), end_of(second)) is None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """The run of 4,000 steps that was never stopped."""
    return train(tmp_path_factory.mktemp("whole"))


def test_a_run_that_is_done_is_left_alone(tmp_path: Path, whole: api.Run) -> None:
    first = train(tmp_path)
    assert_same(whole, first)
    before = {path: path.stat().st_mtime_ns for path in first.path.rglob("*") if path.name != ".lock"}
    again = train(tmp_path)
    assert again.outcome == first.outcome
    after = {path: path.stat().st_mtime_ns for path in first.path.rglob("*") if path.name != ".lock"}
    assert after == before


def test_time_limit_is_of_each_call_and_the_run_ends_the_same(tmp_path: Path) -> None:
    runs, steps = tmp_path / "runs", [0]
    while (run := train(runs, 20_000, max_duration=0.4)).outcome.status == "interrupted":
        steps.append(run.outcome.env_steps)
        assert steps[-1] > steps[-2], "each call gets on"
    assert len(steps) > 1
    assert run.outcome.status == "finished"
    assert_same(train(tmp_path / "whole", 20_000), run)


def test_started_with_weights_and_without_them_later(tmp_path: Path, whole: api.Run) -> None:
    source = tmp_path / "source"
    shutil.copytree(whole.path, source / "k0000000")
    stopped = train(tmp_path / "runs", init_from=source / "k0000000", max_duration=0.001)
    assert stopped.outcome.status == "interrupted"
    shutil.rmtree(source)
    assert train(tmp_path / "runs", init_from=source / "k0000000").outcome.status == "finished"


def test_killed_before_the_first_checkpoint_starts_again(tmp_path: Path, whole: api.Run) -> None:
    run = train(tmp_path)
    for path in run.folder.checkpoints.iterdir():  # as after a kill in the first update
        path.unlink()
    rows = run.folder.metrics_path.read_text().splitlines(keepends=True)
    run.folder.metrics_path.write_text("".join(rows[:3]))
    run.folder.status_path.write_text(json.dumps({"status": "running"}))
    run.folder.log_path.write_text("2026-01-01T00:00:00+00:00 started\n")
    (run.folder.checkpoints / "000000000256.policy.safetensors").write_bytes(b"half")
    assert_same(whole, train(tmp_path))


def test_checkpoints_that_were_lost_are_not_passed_over(tmp_path: Path) -> None:
    run = train(tmp_path, max_duration=0.001)
    for path in run.folder.checkpoints.iterdir():
        path.unlink()
    with pytest.raises(GymnastError, match="has no checkpoint though it was trained to step"):
        train(tmp_path)
    assert run.metrics(), "nothing was changed"


def test_killed_between_the_last_checkpoint_and_the_end(tmp_path: Path, whole: api.Run) -> None:
    run = train(tmp_path)
    status = json.loads(run.folder.status_path.read_text())
    run.folder.status_path.write_text(json.dumps(status | {"status": "running", "reason": None}))
    again = train(tmp_path)
    assert again.outcome.status == "finished"
    assert again.outcome.reason == "the step budget is spent"
    assert_same(whole, again)


def test_a_rule_had_ended_it_before_it_was_killed(tmp_path: Path) -> None:
    rule = {"stop.eval_return": 20.0, "eval.every": 1000}
    run = train(tmp_path, 50_000, overrides=rule)
    assert run.outcome.reason.startswith("evaluation reached"), run.outcome
    status = json.loads(run.folder.status_path.read_text())
    run.folder.status_path.write_text(json.dumps(status | {"status": "running", "reason": None}))
    again = train(tmp_path, 50_000, overrides=rule)
    assert again.outcome.env_steps == run.outcome.env_steps
    assert again.outcome.reason == run.outcome.reason


def test_a_half_made_folder_of_the_same_id_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".new-job-1").mkdir()
    (tmp_path / ".new-job-1" / "run.json").write_text("{}")
    assert train(tmp_path).outcome.status == "finished"


def faulty(tmp_path: Path) -> api.Run:
    """Train an env that fails as the file `switch` says."""
    kwargs = {"switch": str(tmp_path / "switch"), "at": 100}
    return api.train(
        "training.faulty_envs:Faulty",
        overrides={
            "env.kwargs": kwargs,
            "env.n_envs": 2,
            "env.backend": "sync",
            "algo.normalize_reward": False,
        },
        max_env_steps=2000,
        run_id="job-1",
        continued=True,
        runs_dir=tmp_path / "runs",
    )


def test_a_run_that_diverged_has_failed_for_good(tmp_path: Path) -> None:
    (tmp_path / "switch").write_text("huge-reward")
    with pytest.raises(RunFailed, match="NaN or infinite"):
        faulty(tmp_path)
    with pytest.raises(RunFailed, match="job-1 failed for good: the loss became NaN") as refused:
        faulty(tmp_path)
    assert refused.value.exit_code == 1


def test_a_fault_of_an_env_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "switch").write_text("raise")
    with pytest.raises(RunFailed, match="the motor broke"):
        faulty(tmp_path)
    (tmp_path / "switch").unlink()
    assert faulty(tmp_path).outcome.status == "finished"


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    run = train(tmp_path, max_duration=0.001)
    text = run.folder.config_path.read_text()
    with pytest.raises(GymnastError, match=r"algo\.gamma is 0\.\d+, not 0\.5") as refused:
        train(tmp_path, overrides={"algo.gamma": 0.5})
    assert "gymnast train --resume job-1 algo.gamma=0.5" in str(refused.value)
    assert refused.value.exit_code == 2
    lr = {"kind": "linear", "start": 0.004, "end": 0.0}
    with pytest.raises(GymnastError, match=r"algo\.lr is .*budget\.env_steps is 4000, not 5000") as refused:
        train(tmp_path, 5000, overrides={"algo.lr": lr})
    *_, command = str(refused.value).partition("gymnast train --resume job-1 ")
    assert shlex.split(command) == [f"algo.lr={lr}", "budget.env_steps=5000"]  # as it may be pasted
    assert run.folder.config_path.read_text() == text


def test_what_auto_was_replaced_by_is_not_another_setting(tmp_path: Path) -> None:
    auto = {"env.n_envs": "auto", "env.backend": "auto", "algo.batch_size": 0.5}
    assert train(tmp_path, overrides=auto, max_duration=0.001).outcome.status == "interrupted"
    assert train(tmp_path, overrides=auto).outcome.status == "finished"


def test_a_damaged_config_is_replaced_from_the_checkpoint(tmp_path: Path) -> None:
    run = train(tmp_path, max_duration=0.001)
    run.folder.config_path.write_text("seed: [")
    assert train(tmp_path).outcome.status == "finished"


def test_one_that_is_being_trained_and_one_that_is_none(tmp_path: Path) -> None:
    run = train(tmp_path, max_duration=0.001)
    with run.folder.lock(), pytest.raises(GymnastError, match="is being trained by another process"):
        train(tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(GymnastError, match="is not a run"):
        train(tmp_path, run_id="mine")
    with pytest.raises(GymnastError, match=r"'\.\./x' is not a run id"):
        train(tmp_path, run_id="../x")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["CartPole-v1:ppo", "--continue"], "--continue needs --run-id"),
        (["--resume", "@last", "--continue"], "--continue starts a run or continues it"),
        (["--resume", "@last", "--run-id", "abc"], "--run-id is for what starts a run"),
        (
            ["CartPole-v1:ppo", "--run-id", "abc", "--continue", "--detach"],
            "--continue ends when the run does",
        ),
        (["CartPole-v1:ppo", "--run-id", "A b"], "'A b' is not a run id"),
        (["CartPole-v1:ppo", "--max-duration", "soon"], "--max-duration: 'soon' is not a duration"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, line: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", "train", *line, "--runs-dir", str(tmp_path / "runs")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.timeout(400)
def test_exit_codes_and_json_of_the_command(tmp_path: Path) -> None:
    first = gymnast(tmp_path, "--max-duration", "1s", env_steps="2M")
    assert first.returncode == 3, first.stderr
    said = json.loads(first.stdout)
    assert (said["next"], said["reason"]) == ("again", "stopped by its time limit of 1 s")
    process = subprocess.Popen(words(tmp_path, env_steps="2M"), stdout=subprocess.PIPE, text=True)
    folder = open_run(tmp_path, "job-1")
    saved = list_checkpoints(folder)[-1].env_steps
    end = time.monotonic() + 200
    while time.monotonic() < end and list_checkpoints(folder)[-1].env_steps == saved:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 3
    assert json.loads(out)["reason"] == "stopped by SIGTERM"


@pytest.mark.timeout(400)
def test_sigterm_before_there_is_anything_to_save(tmp_path: Path) -> None:
    process = subprocess.Popen([*words(tmp_path)[:-1], "--plain"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "setting up run job-1" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=200)
    assert process.returncode in (0, 3)  # 0 where it was faster
    assert gymnast(tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_again_and_again_it_ends_as_if_never_killed(tmp_path: Path) -> None:
    env_steps = "200k"
    assert gymnast(tmp_path / "whole", env_steps=env_steps).returncode == 0
    draw, runs = random.Random(7), tmp_path / "killed"
    for attempt in range(15):
        process = subprocess.Popen(
            words(runs, env_steps=env_steps), stdout=subprocess.DEVNULL, start_new_session=True
        )
        # The first kills come while the process starts, the later ones while it trains.
        until = time.monotonic() + draw.uniform(0.2, 1.0 + 0.1 * attempt)
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    last = gymnast(runs, env_steps=env_steps)
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout)["next"] == "done"
    assert len(run_folders(runs)) == 1
    assert_same(as_run(tmp_path / "whole"), as_run(runs))
    assert gymnast(runs, env_steps=env_steps).returncode == 0
