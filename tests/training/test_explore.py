"""Training with exploration bonuses: exact resume, coverage, and every way of collecting."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint
from gymnast.training.run.keys import TerminalKeys

Stopper = Callable[[int], TerminalKeys]
Same = Callable[[api.Run, api.Run], None]
Train = Callable[..., api.Run]

CELLS = {"name": "bins", "bins": 8}
# Short episodes, so that some end in every rollout and some run on into the next.
MOUNTAIN = {"env__wrappers": [], "env__max_episode_steps": 21}


def bonus(name: str) -> dict[str, Any]:
    return {"name": name, "cells": CELLS}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["none", "count", "rnd", "noveld"])
def test_resumed_run_equals_the_one_never_stopped(
    name: str, engine: str, tmp_path: Path, train: Train, stop_after: Stopper, assert_same_run: Same
) -> None:
    settings = MOUNTAIN | {"explore": bonus(name), "engine": engine, "policy__normalize_obs": "running"}
    whole = train("MountainCar-v0:ppo", tmp_path, **settings)
    parts = train("MountainCar-v0:ppo", tmp_path, requests=stop_after(1), **settings)
    for updates in (2, None):
        requests = None if updates is None else stop_after(updates)
        parts = api.resume(parts.id, runs_dir=tmp_path, requests=requests)
    assert parts.outcome.status == "finished"
    assert_same_run(whole, parts)
    assert whole.metrics()[-1]["explore/cells"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "noveld"])
def test_resumed_minigrid_run_equals_the_one_never_stopped(
    name: str, tmp_path: Path, train: Train, stop_after: Stopper, assert_same_run: Same
) -> None:
    pytest.importorskip("minigrid")
    settings = {"env__backend": "native", "explore": name, "eval__every": 0}
    whole = train("MiniGrid-DoorKey-5x5-v0:ppo", tmp_path, 3, **settings)
    parts = train("MiniGrid-DoorKey-5x5-v0:ppo", tmp_path, 3, requests=stop_after(1), **settings)
    assert_same_run(whole, api.resume(parts.id, runs_dir=tmp_path))


def test_counting_cells_changes_nothing_else(
    tmp_path: Path, train: Train, end_state: Any, first_difference: Any
) -> None:
    plain = train("MountainCar-v0:ppo", tmp_path, **MOUNTAIN)
    named = train("MountainCar-v0:ppo", tmp_path, **MOUNTAIN, explore="none")
    counted = train(
        "MountainCar-v0:ppo",
        tmp_path,
        **MOUNTAIN,
        explore={"name": "none", "cells": {"name": "bins", "bins": 200}},
    )
    assert first_difference(end_state(plain), end_state(named)) is None
    assert "explore/cells" not in plain.metrics()[-1]
    seen = [row["explore/cells"] for row in counted.metrics()]
    assert seen == sorted(seen)
    assert seen[-1] > seen[0] > 1
    assert first_difference(end_state(plain)["policy"], end_state(counted)["policy"]) is None
    for one, other in zip(plain.metrics(), counted.metrics(), strict=True):
        changed = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
        assert {key for key in changed if not key.startswith("time/")} == {"explore/cells"}


WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "groups": ("CartPole-v1:ppo", {"env__groups": 2}),
    "collect ahead": ("CartPole-v1:ppo", {"algo__collect_ahead": True}),
    "workers": ("CartPole-v1:ppo", {"env__backend": "workers", "env__workers": 2}),
    "frame stack": ("CartPole-v1:ppo", {"policy__frame_stack": 3}),
    "memory": ("CartPole-v1:ppo", {"policy__memory": "gru", "policy__memory_size": 8}),
    "shared trunk": ("CartPole-v1:ppo", {"policy__shared": True, "algo__value_clip_range": 0.2}),
    "critic_lr": ("CartPole-v1:ppo", {"algo__critic_lr": 1e-3, "policy__critic_hidden": [8]}),
    "a2c": ("CartPole-v1:a2c", {"algo__name": "a2c"}),
    "popart": ("CartPole-v1:ppo", {"policy__popart": True, "algo__normalize_reward": True}),
    "minibatches": ("CartPole-v1:ppo", {"algo__batch_size": 16, "engine": "torch"}),
    "continuous": ("Pendulum-v1:ppo", {}),
    "masks": ("Taxi-v4:ppo-masked", {}),
    "episodic": ("CartPole-v1:ppo", {"explore__episodic": True}),
    "mix": (
        "CartPole-v1:ppo",
        {"env__mix": [{"id": "CartPole-v1"}, {"id": "CartPole-v1", "name": "short", "max_episode_steps": 9}]},
    ),
    "images": ("observation_envs:Cue", {"env__kwargs": {"kind": "image"}, "policy__hidden": [8]}),
    "image dict": ("observation_envs:Cue", {"env__kwargs": {"kind": "image_dict"}, "policy__hidden": [8]}),
    "tuple": ("observation_envs:Cue", {"env__kwargs": {"kind": "tuple"}}),
    "discrete": ("observation_envs:Cue", {"env__kwargs": {"kind": "discrete"}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "noveld"])
@pytest.mark.parametrize("way", WAYS)
def test_bonuses_work_with_every_way_of_collecting_and_learning(
    way: str, name: str, tmp_path: Path, train: Train
) -> None:
    reference, changes = WAYS[way]
    settings = {"eval__every": 0, "explore__name": name, "explore__cells": "hash"} | changes
    run = train(reference, tmp_path, 3, **settings)
    assert run.outcome.status == "finished"
    for row in run.metrics():
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float)), row
        assert row["explore/bonus/mean"] > 0
        assert row["explore/cells"] > 1


def test_another_bonus_on_resume_is_reported_by_name(
    tmp_path: Path, train: Train, stop_after: Stopper
) -> None:
    settings = MOUNTAIN | {"explore": bonus("count")}
    run = train("MountainCar-v0:ppo", tmp_path, requests=stop_after(2), **settings)
    run = api.resume(run.id, overrides={"explore": bonus("rnd")}, runs_dir=tmp_path)
    assert run.outcome.status == "finished"
    log = run.folder.log_path.read_text()
    assert "the checkpoint has no state of part 'rnd': it starts from scratch" in log
    assert "the checkpoint has state of part 'count', which this run does not use" in log
    assert "explore/predictor_loss" in run.metrics()[-1]


def test_bonus_that_is_new_on_resume_needs_a_new_optimiser_and_keeps_the_policy(
    tmp_path: Path, train: Train, stop_after: Stopper
) -> None:
    run = train("MountainCar-v0:ppo", tmp_path, requests=stop_after(2), **MOUNTAIN)
    config = run.folder.config_text()
    change = {"explore": bonus("count")}
    with pytest.raises(GymnastError, match="--fresh-optimizer"):
        api.resume(run.id, overrides=change, runs_dir=tmp_path)
    assert run.folder.config_text() == config, "nothing was changed"
    before = load_checkpoint(list_checkpoints(run.folder)[-1])[0]
    run = api.resume(
        run.id,
        overrides=change | {"algo.lr": 0},
        fresh_optimizer=True,
        runs_dir=tmp_path,
        requests=stop_after(1),
    )
    log = run.folder.log_path.read_text()
    assert "the checkpoint has no state of part 'count': it starts from scratch" in log
    assert "value heads that are not stored keep their new weights: intrinsic" in log
    after = load_checkpoint(list_checkpoints(run.folder)[-1])[0]
    assert len(after["value_head.weight"]) == 2
    assert (after["value_head.weight"][:1] == before["value_head.weight"]).all()
    assert (after["actor.0.weight"] == before["actor.0.weight"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "rnd", "noveld"])
def test_lock_that_random_actions_never_open_is_opened_with_a_bonus(name: str, tmp_path: Path) -> None:
    """Of 3²⁰ ways to press twenty keys, one is right."""
    settings = {
        "seed": 1,
        "engine": "numpy",
        "algo.n_steps": 64,
        "budget.env_steps": 60_000,
        "eval.every": 5_000,
        "eval.episodes": 5,
        "stop.eval_return": 1,
        "explore": {"name": name, "cells": "hash"} | ({} if name == "count" else {"predictor_lr": 1e-3}),
    }
    run = api.train("exploration_envs:Lock", overrides=settings, runs_dir=tmp_path)
    assert run.outcome.best_score == 1
    assert run.metrics()[-1]["explore/cells"] == 21


@pytest.mark.slow
def test_lock_stays_shut_without_a_bonus(tmp_path: Path) -> None:
    settings = {"algo.n_steps": 64, "budget.env_steps": 60_000, "explore.cells": "hash", "engine": "numpy"}
    run = api.train("exploration_envs:Lock", overrides=settings | {"eval.every": 0}, runs_dir=tmp_path)
    assert run.metrics()[-1]["explore/cells"] < 21
    assert all(row["train/return/mean"] == 0 for row in run.metrics() if "train/return/mean" in row)


def test_changed_cells_on_resume_are_counted_from_scratch(
    tmp_path: Path, train: Train, stop_after: Stopper
) -> None:
    fine = {"name": "none", "cells": {"name": "bins", "bins": 500}}
    run = train("MountainCar-v0:ppo", tmp_path, requests=stop_after(4), **MOUNTAIN, explore=fine)
    before = run.metrics()[-1]["explore/cells"]
    run = api.resume(run.id, overrides={"explore": bonus("none")}, runs_dir=tmp_path)
    assert "explore.cells was changed: visits are counted from scratch" in run.folder.log_path.read_text()
    assert run.metrics()[-1]["explore/cells"] < before
