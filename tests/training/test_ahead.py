"""Envs in groups and rollouts collected ahead, in whole trainings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.runs.checkpoint import load_policy_arrays
from gymnast.runs.references import resolve

OVERLAP = {"env.groups": 2, "algo.collect_ahead": True}
SHORT = {"budget.env_steps": "4k", "eval.every": 0, "seed": 3}


def weights(run: api.Run) -> dict[str, np.ndarray]:
    return load_policy_arrays(resolve(run.folder))[0]


@pytest.mark.parametrize("changes", [OVERLAP, {"env.groups": 3}, {"algo.collect_ahead": True}])
def test_overlapping_does_not_depend_on_the_machines_speed(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    runs = [api.train("CartPole-v1:ppo", overrides={**SHORT, **changes}, runs_dir=tmp_path) for _ in range(2)]
    first, second = (weights(run) for run in runs)
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.slow
def test_cartpole_is_solved_from_rollouts_that_are_one_update_old(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", overrides={**OVERLAP, "seed": 1}, runs_dir=tmp_path)
    assert run.outcome.status == "solved"


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_target_kl_leaves_every_update_some_steps(tmp_path: Path, engine: str) -> None:
    """KL is measured from the beginning of an update, not from the older policy that collected."""
    changes = {"engine": engine, "algo.collect_ahead": True, "algo.target_kl": 0.005, "algo.lr": 3e-3}
    run = api.train("CartPole-v1:ppo", overrides={**SHORT, **changes}, runs_dir=tmp_path)
    rows = run.metrics()
    assert sum(row["train/kl_stops"] > 0 for row in rows) > 1  # the limit is felt
    assert min(row["opt/grad_norm"] for row in rows) > 0  # 0: no step was taken


def test_run_that_collects_ahead_can_be_resumed(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", overrides={**SHORT, **OVERLAP}, runs_dir=tmp_path)
    longer = api.resume(run, max_env_steps=6000, runs_dir=tmp_path)
    assert longer.outcome.env_steps >= 6000


@pytest.mark.parametrize(
    ("changes", "new_episodes"),
    [({"algo.collect_ahead": False}, False), ({"env.n_envs": 5}, True), ({"algo.n_steps": 16}, False)],
    ids=["not ahead", "other envs", "other steps"],
)
def test_run_that_collects_ahead_can_be_resumed_with_other_settings(
    tmp_path: Path, changes: dict[str, object], new_episodes: bool
) -> None:
    start = {**SHORT, "algo.batch_size": "all", "algo.collect_ahead": True}
    run = api.train("CartPole-v1:ppo", overrides=start, runs_dir=tmp_path)
    longer = api.resume(run, overrides=changes, max_env_steps=6000, runs_dir=tmp_path)
    assert longer.outcome.env_steps >= 6000
    assert ("new episodes" in longer.folder.log_path.read_text()) == new_episodes


@pytest.mark.parametrize(
    ("key", "value"), [("env.groups", 2), ("algo.collect_ahead", True)], ids=["groups", "ahead"]
)
def test_policy_with_a_memory_supports_neither(key: str, value: object) -> None:
    with pytest.raises(GymnastError, match=key):
        load_config("CartPole-v1:ppo", {"policy.memory": "lstm", key: value})


def test_more_groups_than_envs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match=r"env\.groups=999 needs at least as many envs"):
        api.train("CartPole-v1:ppo", overrides={**SHORT, "env.groups": 999}, runs_dir=tmp_path)
