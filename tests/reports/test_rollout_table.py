"""Tables of steps beside checkpoints."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.reports.rollout_table import MOST_STEPS, RolloutTables, without_table
from gymnast.runs.checkpoint import best_checkpoint, list_checkpoints, prune, rewind, save_checkpoint
from gymnast.runs.steps_tables import steps_path
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config
from gymnast.training.evaluator import held_out_seed
from reports.conftest import OVERRIDES


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def tables_of(run: RunFolder) -> list[int]:
    return [c.env_steps for c in list_checkpoints(run) if steps_path(run, c.env_steps).is_file()]


def test_the_end_of_a_run_writes_the_table_of_its_best_checkpoint(trained: RunFolder) -> None:
    best = best_checkpoint(trained)
    assert best is not None
    assert best.env_steps in tables_of(trained)
    assert "tables of steps: " in trained.log_path.read_text()


def test_a_table_is_what_steps_table_makes_of_a_held_out_episode(copied: RunFolder) -> None:
    checkpoint = list_checkpoints(copied)[0]
    path = api.rollout_table(f"{copied.path}/{checkpoint.env_steps}")
    seed = held_out_seed(load_run_config(copied))
    trace = api.record_trace(f"{copied.path}/{checkpoint.env_steps}", seed=seed, frames=False)
    assert path.read_text() == api.steps_csv(api.steps_table(trace)).replace("\r\n", "\n")
    assert path == steps_path(copied, checkpoint.env_steps)
    stamp = path.stat().st_mtime_ns
    assert api.rollout_table(f"{copied.path}/{checkpoint.env_steps}") == path
    assert path.stat().st_mtime_ns == stamp  # it was there already


def test_actions_are_sampled_where_evaluations_sample_them(tmp_path: Path) -> None:
    overrides = {**OVERRIDES, "eval.stochastic": True, "budget.env_steps": 512, "algo.lr": 1e-3}
    run = api.train("CartPole-v1:ppo", overrides=overrides, runs_dir=tmp_path)
    (steps,) = tables_of(run.folder)
    seed = held_out_seed(load_run_config(run.folder))
    made = steps_path(run.folder, steps).read_text()
    for stochastic in (True, False):
        trace = api.record_trace(f"{run.path}/{steps}", seed=seed, stochastic=stochastic, frames=False)
        same = made == api.steps_csv(api.steps_table(trace)).replace("\r\n", "\n")
        assert same == stochastic


def test_report_writes_the_tables_that_are_missing(copied: RunFolder) -> None:
    known = [checkpoint.env_steps for checkpoint in list_checkpoints(copied)]
    best = best_checkpoint(copied)
    assert best is not None
    for steps in known:
        steps_path(copied, steps).unlink(missing_ok=True)
    assert without_table(copied)[0] == best
    api.write_report(copied.path)
    assert tables_of(copied) == known
    assert not without_table(copied)
    shown = api.read_report(copied.path).to_json()["checkpoints"]
    assert all(checkpoint["table"] for checkpoint in shown)


def test_a_table_goes_with_its_checkpoint(copied: RunFolder) -> None:
    api.write_report(copied.path)
    before = tables_of(copied)
    with copied.lock():
        prune(copied, 1)
    kept = [checkpoint.env_steps for checkpoint in list_checkpoints(copied)]
    assert len(kept) < len(before)
    assert [int(path.name[:12]) for path in sorted(copied.checkpoints.glob("*.steps.csv"))] == kept


def test_a_step_that_is_saved_again_loses_its_table(copied: RunFolder) -> None:
    last = list_checkpoints(copied)[-1]
    api.rollout_table(f"{copied.path}/@last")
    arrays: dict[str, Any] = {"weight": np.zeros(2, np.float32)}
    with copied.lock():
        save_checkpoint(
            copied,
            env_steps=last.env_steps,
            policy=arrays,
            state={},
            counters={},
            metrics={},
            score=None,
            reason="user",
        )
    assert last.env_steps not in tables_of(copied)


def test_a_table_without_its_checkpoint_is_set_aside_at_a_resume(copied: RunFolder) -> None:
    lost, folder, removed = (steps_path(copied, steps) for steps in (7, 8, 9))
    lost.write_text("step\n1\n")
    folder.mkdir()
    removed.write_text("step\n1\n")
    (copied.checkpoints / ".000000000009.changing.tmp").touch()  # killed while it was being removed
    with copied.lock():
        rewind(copied, list_checkpoints(copied)[-1])
    assert not any(path.exists() for path in (lost, folder, removed))
    assert lost.with_name(f"{lost.name}.damaged-1").read_text() == "step\n1\n"
    assert not removed.with_name(f"{removed.name}.damaged-1").exists()


def test_a_run_can_be_trained_without_tables(tmp_path: Path) -> None:
    overrides = {**OVERRIDES, "checkpoint.rollout_table": False, "budget.env_steps": 512}
    run = api.train("CartPole-v1:ppo", overrides=overrides, runs_dir=tmp_path)
    assert tables_of(run.folder) == []
    assert run.folder.report_path.is_file()


def test_a_slow_env_is_cut_by_the_clock(copied: RunFolder) -> None:
    config = load_run_config(copied)
    checkpoint = list_checkpoints(copied)[0]
    with RolloutTables(copied, config) as tables:
        rows = rows_of(tables.write(checkpoint, seconds=0.0))
    assert len(rows) == 1  # one step at least
    assert rows[-1]["cut"] == "1"
    assert MOST_STEPS == 1000


def test_a_running_run_has_no_table_written(copied: RunFolder) -> None:
    checkpoint = list_checkpoints(copied)[0]
    steps_path(copied, checkpoint.env_steps).unlink(missing_ok=True)
    with copied.lock(), pytest.raises(GymnastError, match="is being trained"):
        api.rollout_table(f"{copied.path}/{checkpoint.env_steps}")
