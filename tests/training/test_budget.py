"""How long a run trains, and that its counters agree with each other in every row."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import COUNTERS, spec
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.training.requests import Request
from gymnast.training.run.keys import TerminalKeys

STEPS = 64
Train = Callable[..., api.Run]
Press = Callable[[dict[int, Request]], TerminalKeys]


def test_env_steps_end_with_the_update_that_reaches_them(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, eval__every=0, budget__env_steps=3 * STEPS + 1)
    assert run.outcome.env_steps == 4 * STEPS
    assert (run.outcome.status, run.outcome.reason) == ("finished", "the step budget is spent")
    assert [row["time/progress"] for row in run.metrics()] == pytest.approx(
        [64 / 193, 128 / 193, 192 / 193, 1.0]
    )


def test_vec_steps_count_all_envs_as_one(train: Train, tmp_path: Path) -> None:
    run = train(
        "CartPole-v1:ppo",
        tmp_path,
        eval__every=0,
        budget__env_steps=None,
        budget__vec_steps=32,
        algo__lr={"kind": "linear", "start": 1e-3, "end": 0},
    )
    rows = run.metrics()
    assert [row["time/vec_steps"] for row in rows] == [16, 32]
    assert [row["opt/lr"] for row in rows] == pytest.approx([1e-3, 5e-4]), "schedules follow it too"
    # A step total given on a resume replaces it.
    run = api.resume(run.id, max_env_steps=3 * STEPS, runs_dir=tmp_path)
    assert run.outcome.env_steps == 3 * STEPS


def test_wall_time_ends_the_run_and_parts_add_up(train: Train, tmp_path: Path) -> None:
    began = time.perf_counter()
    run = train(
        "CartPole-v1:ppo",
        tmp_path,
        eval__every=0,
        budget__env_steps=None,
        budget__wall_time="0.3s",
        algo__lr=1e-3,
        algo__clip_range=0.2,
        algo__entropy_coef=0.0,
    )
    assert 0.3 <= run.outcome.seconds <= time.perf_counter() - began
    assert run.outcome.reason == "the wall time is spent"
    assert run.metrics()[-1]["time/progress"] == 1.0
    with pytest.raises(GymnastError, match=r"the wall time is spent.*--wall-time"):
        api.resume(run.id, runs_dir=tmp_path)
    before = run.outcome
    run = api.resume(run.id, wall_time=0.5, runs_dir=tmp_path)
    assert run.outcome.env_steps > before.env_steps
    assert run.outcome.seconds >= 0.5


def test_whichever_budget_is_spent_first(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, eval__every=0, budget__wall_time="10m")
    assert run.outcome.reason == "the step budget is spent"
    run = train("CartPole-v1:ppo", tmp_path, updates=10**6, eval__every=0, budget__wall_time=0.1)
    assert run.outcome.reason == "the wall time is spent"


def test_training_return_stops_at_once(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=10**4, eval__every=0, stop__train_return=15)
    rows = run.metrics()
    assert run.outcome.status == "finished"
    assert "15 was wanted" in run.outcome.reason
    assert rows[-1]["time/episodes"] >= 100, "a full window"
    assert rows[-1]["train/return_plain/mean"] >= 15
    assert all(row["train/return_plain/mean"] < 15 for row in rows[:-1] if row["time/episodes"] >= 100)
    assert not run.outcome.solved


def test_shaping_does_not_count_towards_the_training_return(train: Train, tmp_path: Path) -> None:
    run = train(
        "MountainCar-v0:ppo",
        tmp_path,
        updates=40,
        eval__every=0,
        env__max_episode_steps=20,
        env__wrappers=[{"name": "reward-scale", "scale": -1.0}],
        stop__train_return=-19,
    )
    assert run.outcome.reason == "the step budget is spent"
    assert run.metrics()[-1]["train/return/mean"] == 20
    assert run.metrics()[-1]["train/return_plain/mean"] == -20


def test_counters_agree_in_every_row(train: Train, tmp_path: Path) -> None:
    run = train(
        "gymnast/Bandit-v0:ppo",
        tmp_path,
        updates=8,
        env__n_envs=4,
        env__kwargs={"arms": 10, "horizon": 7},
        algo__n_epochs=3,
        algo__target_kl=1e-4,
    )
    rows = run.metrics()
    assert len(rows) == 8
    epochs = 0
    for number, row in enumerate(rows, start=1):
        assert set(COUNTERS) <= row.keys()
        assert row["time/updates"] == number
        assert row["time/vec_steps"] == 16 * number
        assert row["time/env_steps"] == 4 * row["time/vec_steps"]
        assert row["time/episodes"] == 4 * (row["time/vec_steps"] // 7), "each env ends one every 7 steps"
        assert row["train/length/mean"] == 7
        epochs += row["train/epochs_done"]
        assert row["time/epochs"] == epochs
    assert any(row["train/epochs_done"] < 3 for row in rows), "KL cut some updates short"
    assert rows[-1]["train/kl_stops"] >= sum(row["train/epochs_done"] < 3 for row in rows)
    for earlier, later in pairwise(rows):
        assert all(later[key] >= earlier[key] for key in COUNTERS)


def test_paused_time_is_no_training_time(train: Train, tmp_path: Path, press: Press) -> None:
    requests = press({2: Request.PAUSE})
    waited: list[float] = []

    def wait(seconds: float) -> set[Request]:
        time.sleep(0.1)
        waited.append(seconds)
        return {Request.RESUME} if len(waited) == 5 else set()

    requests.wait = wait  # type: ignore[method-assign]
    began = time.perf_counter()
    run = train("CartPole-v1:ppo", tmp_path, updates=3, eval__every=0, requests=requests)
    assert len(waited) == 5
    assert run.outcome.status == "finished"
    assert time.perf_counter() - began - run.outcome.seconds >= 0.5


def test_stop_while_paused_stops(train: Train, tmp_path: Path, press: Press) -> None:
    requests = press({2: Request.PAUSE})
    requests.wait = lambda seconds: {Request.STOP}  # type: ignore[method-assign]
    run = train("CartPole-v1:ppo", tmp_path, eval__every=0, requests=requests)
    assert run.outcome.status == "interrupted"
    assert run.outcome.env_steps == 2 * STEPS


def test_key_saves_now(train: Train, tmp_path: Path, press: Press) -> None:
    run = train("CartPole-v1:ppo", tmp_path, eval__every=0, requests=press({2: Request.CHECKPOINT}))
    assert [c.env_steps for c in list_checkpoints(run.folder)] == [2 * STEPS, 6 * STEPS]
    assert list_checkpoints(run.folder)[0].sidecar().reason == "user"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"checkpoint__every": STEPS, "checkpoint__keep": 100}, [1, 2, 3, 4, 5, 6]),
        ({"checkpoint__every": STEPS, "checkpoint__keep": 2}, [5, 6]),
        ({"checkpoint__every": 2.5 * STEPS}, [3, 5, 6]),
        ({"checkpoint__every": 0}, [6]),
    ],
    ids=str,
)
def test_checkpoints_by_steps(
    changes: dict[str, Any], wanted: list[int], train: Train, tmp_path: Path
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, eval__every=0, **changes)
    assert [c.env_steps // STEPS for c in list_checkpoints(run.folder)] == wanted


def test_checkpoints_by_time(train: Train, tmp_path: Path) -> None:
    run = train(
        "CartPole-v1:ppo",
        tmp_path,
        updates=10**6,
        eval__every=0,
        budget__wall_time=0.5,
        checkpoint__seconds=0.1,
    )
    assert 2 <= len(list_checkpoints(run.folder)) <= 6


@pytest.mark.parametrize(
    ("reference", "changes"),
    [
        ("CartPole-v1:ppo-centred", {"algo__target_kl": 0.01, "algo__value_clip_range": 0.2}),
        ("MountainCar-v0:ppo", {"env__wrappers": ["mountaincar-shaping", "count-bonus"]}),
        ("MountainCarContinuous-v0:ppo", {}),
        ("Pendulum-v1:ppo", {"policy__gaussian": "squashed", "policy__state_dependent_std": True}),
        ("FrozenLake-v1:ppo", {"policy__discrete_obs": "embedding"}),
        ("Taxi-v4:ppo", {"algo__normalize_reward": True}),
        ("gymnast/Bandit-v0:ppo-gaussian", {}),
        ("LunarLander-v3:ppo", {"env__wrappers": [{"name": "long-episode-penalty", "cost": 0.1}]}),
        ("CliffWalking-v1", {}),
    ],
)
def test_every_value_is_declared_and_possible(
    reference: str, changes: dict[str, Any], train: Train, tmp_path: Path
) -> None:
    run = train(
        reference, tmp_path, updates=3, eval__every=1, eval__episodes=1, env__max_episode_steps=30, **changes
    )
    for row in run.metrics():
        for key, value in row.items():
            declared = spec(key)
            assert value == value, key
            assert abs(value) != float("inf"), key
            # Sums of float32 may miss a bound by a rounding error.
            assert declared.low is None or value >= declared.low - 1e-6, (key, value)
            assert declared.high is None or value <= declared.high + 1e-6, (key, value)
    assert {"eval/return/mean", "opt/lr", "env/reward/mean", "train/entropy"} <= run.metrics()[-1].keys()
