"""Legs of runs: stopping and continuing changes no bit, and a fork continues where it was cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast.metrics.csv_file import read_metrics
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint
from gymnast.runs.store import RunFolder
from gymnast.trials.leg import train_leg
from gymnast.trials.trial import Trial, TrialState

PRESET = "CartPole-v1:ppo"
SETTINGS: dict[str, Any] = {
    "seed": 3,
    "budget.env_steps": 12_288,
    "eval.every": 4096,
    "eval.episodes": 4,
    "stop.eval_return": None,
    "checkpoint.rollout_table": False,
}


def leg(trial: Trial, root: Path) -> TrialState:
    return train_leg(trial, root, lambda steps: None, lambda: False)


def last_policy(run: RunFolder) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    policy, state, _ = load_checkpoint(list_checkpoints(run)[-1])
    return policy, state


def same_training(a: RunFolder, b: RunFolder) -> None:
    (policy_a, state_a), (policy_b, state_b) = last_policy(a), last_policy(b)
    assert state_a["rng"] == state_b["rng"]
    assert state_a["counters"]["env_steps"] == state_b["counters"]["env_steps"]
    for name in policy_a:
        np.testing.assert_array_equal(policy_a[name], policy_b[name])
    rows_a, rows_b = read_metrics(a.metrics_path), read_metrics(b.metrics_path)
    keys = ("time/env_steps", "train/return/mean", "eval/return/mean", "loss/policy")
    assert [[row.get(key) for key in keys] for row in rows_a] == [
        [row.get(key) for key in keys] for row in rows_b
    ]


def test_three_legs_end_with_the_bits_of_one_run(runs: Path) -> None:
    whole = leg(Trial("whole", PRESET, SETTINGS), runs)
    assert whole.status == "finished"
    states = [leg(Trial("legs", PRESET, SETTINGS, stop_at=at), runs) for at in (3000, 8192, None)]
    assert [state.status for state in states] == ["paused", "paused", "finished"]
    assert [state.env_steps for state in states] == [3072, 8192, 12_288]  # at the end of an update
    same_training(RunFolder(runs / "whole"), RunFolder(runs / "legs"))


def test_a_leg_that_was_trained_already_trains_nothing(runs: Path) -> None:
    trial = Trial("again", PRESET, SETTINGS, stop_at=4096)
    first = leg(trial, runs)
    rows = RunFolder(runs / "again").metrics_path.read_bytes()
    assert leg(trial, runs) == first
    assert RunFolder(runs / "again").metrics_path.read_bytes() == rows
    finished = leg(Trial("again", PRESET, SETTINGS), runs)
    assert leg(Trial("again", PRESET, SETTINGS), runs) == finished
    assert finished.status == "finished"


def test_a_fork_without_changes_continues_as_the_run_itself(runs: Path) -> None:
    leg(Trial("root", PRESET, SETTINGS, stop_at=4096), runs)
    leg(Trial("fork", PRESET, SETTINGS, fork_from="root/4096"), runs)
    leg(Trial("root", PRESET, SETTINGS), runs)
    same_training(RunFolder(runs / "root"), RunFolder(runs / "fork"))
    assert RunFolder(runs / "fork").info()["forked_from"] == "root/4096"


def test_a_fork_with_a_changed_setting_learns_differently_and_keeps_the_root(runs: Path) -> None:
    leg(Trial("root", PRESET, SETTINGS, stop_at=4096), runs)
    before = last_policy(RunFolder(runs / "root"))[0]
    changed = {**SETTINGS, "algo.lr": 1e-4}
    state = leg(Trial("fork", PRESET, changed, fork_from="root/4096", stop_at=8192), runs)
    assert (state.status, state.env_steps) == ("paused", 8192)
    fork = RunFolder(runs / "fork")
    rows = read_metrics(fork.metrics_path)
    assert [row["opt/lr"] for row in rows if row["time/env_steps"] > 4096] == pytest.approx([1e-4] * 4)
    assert rows[0]["opt/lr"] > 1e-3  # what was trained before, as the root trained it
    np.testing.assert_array_equal(
        before["actor.0.weight"], last_policy(RunFolder(runs / "root"))[0]["actor.0.weight"]
    )
    assert leg(Trial("fork", PRESET, changed, fork_from="root/4096"), runs).status == "finished"


def test_settings_that_do_not_load_are_a_failed_trial_and_no_folder(runs: Path) -> None:
    state = leg(Trial("wrong", PRESET, {"algo.lrr": 1.0}), runs)
    assert state.status == "failed"
    assert "algo.lrr" in state.message
    assert not (runs / "wrong").exists()
    state = leg(Trial("fork", PRESET, {}, fork_from="nobody/100"), runs)
    assert state.status == "failed"
    assert not (runs / "fork").exists()


def test_a_run_without_a_checkpoint_starts_again(runs: Path) -> None:
    trial = Trial("cut", PRESET, SETTINGS, stop_at=2048)
    leg(trial, runs)
    run = RunFolder(runs / "cut")
    for path in run.checkpoints.iterdir():  # as if it had been killed before its first one
        path.unlink()
    state = leg(trial, runs)
    assert (state.status, state.env_steps) == ("paused", 2048)


def test_a_run_that_another_process_trains_is_left_alone(runs: Path) -> None:
    leg(Trial("busy", PRESET, SETTINGS, stop_at=2048), runs)
    with RunFolder(runs / "busy").lock():
        state = leg(Trial("busy", PRESET, SETTINGS), runs)
    assert state.status == "failed"
    assert "being trained by another process" in state.message
