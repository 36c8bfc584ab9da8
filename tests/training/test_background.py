"""Evaluation in a process of its own: the same scores, without blocking training."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import GymnastError, RunFailed
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs import registry
from gymnast.runs.checkpoint import best_checkpoint, list_checkpoints, load_checkpoint
from gymnast.training.evaluator import evaluation_seed

STEPS = 64
Train = Callable[..., api.Run]


@pytest.mark.slow
def test_scores_are_those_of_the_same_weights_inline(
    train: Train, tmp_path: Path, end_state: Any, first_difference: Any
) -> None:
    changes = {"updates": 200, "eval__every": 10 * STEPS}
    inline = train("CartPole-v1:ppo", tmp_path, **changes)
    behind = train("CartPole-v1:ppo", tmp_path, eval__background=True, **changes)
    scores = {
        row["eval/env_steps"]: row["eval/return/mean"] for row in inline.metrics() if "eval/env_steps" in row
    }
    found = {
        row["eval/env_steps"]: row["eval/return/mean"] for row in behind.metrics() if "eval/env_steps" in row
    }
    assert found, "at least the first one arrives before the end"
    assert found.items() <= scores.items()
    a, b = end_state(inline), end_state(behind)
    assert first_difference(a["policy"], b["policy"]) is None
    best = best_checkpoint(behind.folder)
    assert best is not None
    again = api.evaluate(f"{behind.id}/@best", episodes=5, seed=seed_in_training(behind), runs_dir=tmp_path)
    assert again.mean_return == behind.outcome.best_score == best.sidecar().score == found[best.env_steps]
    policy, _, _ = load_checkpoint(best)
    assert set(policy) == set(a["policy"])


def test_last_score_is_awaited_and_recorded(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=2, eval__background=True, env__spec__solved_at=5)
    assert ["eval/return/mean" in row for row in run.metrics()] == [False, True]
    assert [row["time/updates"] for row in run.metrics()] == [1, 2]
    assert run.outcome.solved
    assert run.outcome.best_score == run.metrics()[-1]["eval/return/mean"]
    again = api.evaluate(f"{run.id}/@best", episodes=5, seed=seed_in_training(run), runs_dir=tmp_path)
    assert again.mean_return == run.outcome.best_score


def test_run_stops_when_a_score_arrives_that_solves(train: Train, tmp_path: Path) -> None:
    run = train(
        "CartPole-v1:ppo",
        tmp_path,
        updates=100_000,
        eval__background=True,
        stop__eval_return="solved",
        env__spec__solved_at=5,
    )
    assert run.outcome.status == "solved"
    assert run.outcome.env_steps < 100_000 * STEPS
    last = run.metrics()[-1]
    assert last["eval/solved"] == 1
    assert last["eval/env_steps"] < last["time/env_steps"], "training continued meanwhile"


def test_training_is_not_blocked(train: Train, tmp_path: Path) -> None:
    run = train(
        "Acrobot-v1:ppo", tmp_path, updates=20, eval__background=True, eval__every=1, eval__episodes=50
    )
    rows = run.metrics()
    late = [row for row in rows if "eval/env_steps" in row]
    # 50 episodes of 500 steps take far longer than an update: while one is running, none is queued.
    assert len(late) < len(rows) / 2


def test_resume_from_a_late_best_knows_its_score(train: Train, tmp_path: Path) -> None:
    # With this seed the score after the third update, with which the run ends, is lower.
    run = train("CartPole-v1:ppo", tmp_path, updates=3, eval__background=True, checkpoint__seconds=0, seed=2)
    best, last = list_checkpoints(run.folder)
    assert (best.env_steps, last.env_steps) == (2 * STEPS, 3 * STEPS)
    _, state, sidecar = load_checkpoint(best)
    assert state["counters"]["best_score"] == sidecar.score == run.outcome.best_score
    assert sidecar.metrics["time/updates"] == 2


def test_script_without_a_guard_is_not_run_again(train: Train, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import gymnasium as gym\n"
        "from gymnast import api\n"
        "pole = 'gymnasium.envs.classic_control:CartPoleEnv'\n"
        "gym.register('mine/Pole-v0', pole, max_episode_steps=20)\n"
        "changes = ['eval.background=true', 'eval.every=1000', 'budget.env_steps=4000', 'env.n_envs=2']\n"
        "print(api.train('mine/Pole-v0', overrides=changes, runs_dir='runs').outcome.best_score)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 1 <= float(done.stdout) <= 20
    assert len(list(tmp_path.glob("runs/*/run.json"))) == 1


def test_signal_to_the_whole_group_stops_the_run_cleanly(tmp_path: Path) -> None:
    typed = "train CartPole-v1:ppo eval.background=true eval.every=500 stop.eval_return=null"
    trainer = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gymnast",
            *typed.split(),
            "--max-env-steps",
            "1M",
            "--runs-dir",
            str(tmp_path),
            "--json",
        ],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 30
    while time.monotonic() < end and not any(
        b"eval/return/mean" in path.read_bytes() for path in tmp_path.glob("*/metrics.csv")
    ):
        time.sleep(0.02)
    os.killpg(trainer.pid, signal.SIGTERM)
    output, _ = trainer.communicate(timeout=30)
    assert trainer.returncode == 3
    assert json.loads(output)["status"] == "interrupted"


def test_process_that_dies_is_reported_and_the_run_saved(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gymnast.processes.start.PROGRAM", "import sys; sys.exit(3)")
    with pytest.raises(RunFailed, match="the evaluation process died"):
        train("CartPole-v1:ppo", tmp_path, updates=3000, eval__background=True)
    monkeypatch.undo()
    (entry,) = registry.entries(tmp_path)
    assert entry.status == "failed"
    rows = read_metrics(tmp_path / entry.id / "metrics.csv")
    run = api.resume(entry.id, max_env_steps=rows[-1]["time/env_steps"] + STEPS, runs_dir=tmp_path)
    assert run.outcome.status == "finished"
    assert [row["time/updates"] for row in run.metrics()] == list(range(1, len(rows) + 2))


def test_env_of_the_main_script_is_refused_before_anything_is_created(train: Train, tmp_path: Path) -> None:
    gym.register("mine/Local-v0", entry_point=lambda: gym.make("CartPole-v1"))
    try:
        with pytest.raises(GymnastError, match=r"eval.background cannot be used for 'mine/Local-v0'"):
            train("mine/Local-v0", tmp_path / "runs", eval__background=True)
    finally:
        del gym.registry["mine/Local-v0"]
    assert not (tmp_path / "runs").exists()


def seed_in_training(run: api.Run) -> int:
    return evaluation_seed(load_config(str(run.folder.config_path)).config)
