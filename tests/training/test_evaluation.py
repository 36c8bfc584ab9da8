"""Evaluation within a run: when it happens, what it sees, and that its score is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.envs.build import env_seeds
from gymnast.runs import registry
from gymnast.runs.checkpoint import best_checkpoint, list_checkpoints
from gymnast.training.evaluator import EvalSchedule, evaluation_seed
from gymnast.training.requests import Request
from gymnast.training.run.keys import TerminalKeys
from gymnast.training.state import TrainState

STEPS = 64  # env steps of an update in every run here
Train = Callable[..., api.Run]


def evaluated(run: api.Run) -> list[int]:
    """The updates that were followed by an evaluation."""
    return [row["time/updates"] for row in run.metrics() if "eval/return/mean" in row]


def play(policy: Any, env: gym.Env[Any, Any], episodes: int, seed: int) -> list[float]:
    """A plain loop: reset with the seed once, then continue."""
    returns = []
    for episode in range(episodes):
        obs, _ = env.reset(seed=seed if episode == 0 else None)
        total, done = 0.0, False
        while not done:
            action = policy.predict(np.asarray(obs)[None])[0]
            obs, reward, terminated, truncated, _ = env.step(action)
            total, done = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


@pytest.mark.parametrize("reference", ["CartPole-v1:ppo", "Pendulum-v1:ppo", "FrozenLake-v1:ppo"])
def test_reported_score_is_what_a_plain_loop_gets(train: Train, reference: str, tmp_path: Path) -> None:
    extra = {"policy__normalize_obs": "running"} if reference.startswith("Pendulum") else {}
    run = train(reference, tmp_path, eval__n_envs=1, **extra)
    saved = {checkpoint.env_steps: checkpoint for checkpoint in list_checkpoints(run.folder)}
    config = load_config(str(run.folder.config_path)).config
    checked = 0
    for row in run.metrics():
        if "eval/return/mean" not in row or row["time/env_steps"] not in saved:
            continue
        policy = api.load_policy(f"{run.id}/{row['time/env_steps']}", runs_dir=tmp_path)
        env = gym.make(config.env.id, **config.env.kwargs)
        returns = play(policy, env, 5, env_seeds(evaluation_seed(config), 1)[0])
        assert row["eval/return/mean"] == np.mean(returns)
        assert row["eval/return/std"] == np.std(returns)
        checked += 1
    assert checked


def seed_in_training(run: api.Run) -> int:
    return evaluation_seed(load_config(str(run.folder.config_path)).config)


def test_evaluating_without_a_seed_plays_episodes_that_selected_nothing(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path)
    config = load_config(str(run.folder.config_path)).config
    own = api.evaluate(run.id, episodes=5, runs_dir=tmp_path)
    assert own == api.evaluate(run.id, episodes=5, runs_dir=tmp_path)
    assert own == api.evaluate(run.id, episodes=5, seed=own.seed, runs_dir=tmp_path)
    other = train("CartPole-v1:ppo", tmp_path, seed=config.seed + 1)
    assert api.evaluate(other.id, episodes=5, runs_dir=tmp_path).seed != own.seed
    seeds = [config.seed, evaluation_seed(config), own.seed]
    started = [set(env_seeds(seed, 300)) for seed in seeds]  # of training, its evaluations, and this one
    assert not started[2] & (started[0] | started[1])
    given = train("CartPole-v1:ppo", tmp_path, eval__seed=99)
    assert api.evaluate(given.id, episodes=5, runs_dir=tmp_path).seed not in (99, own.seed)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"env__backend": "auto"},
        {"eval__n_envs": 2},
        {"eval__seed": 99},
        {"eval__episodes": 9, "eval__n_envs": 4},
    ],
    ids=str,
)
def test_evaluating_the_best_checkpoint_gives_the_recorded_score(
    train: Train, changes: dict[str, Any], tmp_path: Path
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, **changes)
    episodes, seed = changes.get("eval__episodes", 5), seed_in_training(run)
    again = api.evaluate(f"{run.id}/@best", episodes=episodes, seed=seed, runs_dir=tmp_path)
    assert again.mean_return == run.outcome.best_score
    best = best_checkpoint(run.folder)
    assert best is not None
    sidecar = best.sidecar()
    assert sidecar.score == sidecar.metrics["eval/return/mean"] == again.mean_return
    assert sidecar.metrics["time/env_steps"] == best.env_steps == again.env_steps
    rows = {row["time/env_steps"]: row for row in run.metrics()}
    assert rows[best.env_steps] == sidecar.metrics, "the checkpoint has the metrics of exactly that moment"
    scores = [row["eval/return/mean"] for row in rows.values() if "eval/return/mean" in row]
    assert run.outcome.best_score == max(scores)
    assert run.outcome.last_score == scores[-1]


def test_stochastic_evaluation_repeats_too(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, eval__stochastic=True)
    seed = seed_in_training(run)
    again = api.evaluate(f"{run.id}/@best", episodes=5, stochastic=True, seed=seed, runs_dir=tmp_path)
    assert again.mean_return == run.outcome.best_score
    same = api.evaluate(f"{run.id}/@best", episodes=5, seed=seed, runs_dir=tmp_path)
    assert same.stochastic, "as the run was evaluated"
    assert same.returns == again.returns
    greedy = api.evaluate(f"{run.id}/@best", episodes=5, stochastic=False, seed=seed, runs_dir=tmp_path)
    assert greedy.returns != again.returns


def test_training_only_wrappers_are_off_and_limits_on(train: Train, tmp_path: Path) -> None:
    run = train(
        "MountainCar-v0:ppo",
        tmp_path,
        env__wrappers=["mountaincar-shaping", "count-bonus", {"name": "time-limit", "steps": 30}],
    )
    rows = [row for row in run.metrics() if "eval/return/mean" in row]
    assert rows
    for row in rows:
        # −1 per step until the limit, which untrained policies always reach.
        assert row["eval/return/mean"] == row["eval/return/min"] == row["eval/return/max"] == -30
        assert row["eval/length/mean"] == row["train/length/mean"] == 30
        assert row["train/return_plain/mean"] == pytest.approx(-30)
        assert row["train/return/mean"] != pytest.approx(-30, abs=0.01), "training is shaped"
    kept = train(
        "MountainCar-v0:ppo",
        tmp_path,
        env__wrappers=["mountaincar-shaping", {"name": "time-limit", "steps": 30}],
        eval__training_wrappers=True,
    )
    assert kept.outcome.last_score != -30


def test_evaluation_does_not_change_learning(
    train: Train, tmp_path: Path, end_state: Any, first_difference: Any
) -> None:
    """Running statistics, reward scale, random numbers and weights are as without any evaluation."""
    changes = {"policy__normalize_obs": "running", "algo__normalize_reward": True}
    often = train("Pendulum-v1:ppo", tmp_path, updates=4, eval__every=1, eval__episodes=1, **changes)
    never = train("Pendulum-v1:ppo", tmp_path, updates=4, eval__every=0, **changes)
    assert evaluated(often) == [1, 2, 3, 4]
    a, b = end_state(often), end_state(never)
    assert first_difference(a["policy"], b["policy"]) is None
    assert a["policy"]["obs_norm.count"] == 4 * STEPS
    for part in ("learner", "rng", "source"):
        assert first_difference(a["state"][part], b["state"][part]) is None


def test_eval_every_zero_turns_evaluation_and_its_stop_off(train: Train, tmp_path: Path) -> None:
    run = train(
        "CartPole-v1:ppo", tmp_path, eval__every=0, stop__eval_return="solved", env__spec__solved_at=1
    )
    assert evaluated(run) == []
    assert (run.outcome.status, run.outcome.solved) == ("finished", False)
    assert run.outcome.best_score is run.outcome.last_score is None
    assert not any(key.startswith("eval/") for row in run.metrics() for key in row)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, [2, 4, 6]),
        ({"eval__every": 1}, [1, 2, 3, 4, 5, 6]),
        ({"eval__every": 3 * STEPS}, [3, 6]),
        ({"eval__every": 2.5 * STEPS}, [3, 5, 6]),  # the first update that passes each multiple, and the last
        ({"eval__every": 100 * STEPS}, [6]),
        ({"eval__warmup": 3 * STEPS}, [4, 6]),
        ({"eval__warmup": 4 * STEPS}, [4, 6]),
    ],
    ids=str,
)
def test_evaluation_is_due_after_these_updates(
    train: Train, changes: dict[str, Any], wanted: list[int], tmp_path: Path
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, **changes)
    assert evaluated(run) == wanted
    assert all(row["eval/episodes"] == 5 for row in run.metrics() if "eval/episodes" in row)


@pytest.mark.parametrize(
    ("solved_at", "fraction", "mean", "due"),
    [
        (475.0, 0.8, 379.0, False),
        (475.0, 0.8, 381.0, True),
        (-100.0, 0.8, -121.0, False),
        (-100.0, 0.8, -119.0, True),
        (None, 0.8, -1e9, True),  # no threshold, nothing to wait for
        (475.0, None, 0.0, True),
    ],
)
def test_evaluation_waits_for_the_training_score(
    solved_at: float | None, fraction: float | None, mean: float, due: bool
) -> None:
    from gymnast.rollout.source import Episode

    config = load_config("CartPole-v1:ppo", {"eval.from_train_fraction": fraction, "eval.every": 10}).config
    state = TrainState(env_steps=100)
    schedule = EvalSchedule(config, solved_at)
    assert schedule.due(state, 50) is (fraction is None or solved_at is None), "no full window yet"
    state.recent.extend([Episode(1e6, mean, 1)] * 100)  # shaping does not count
    assert schedule.due(state, 50) is due


def test_training_stops_at_once_when_solved(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, stop__eval_return="solved", env__spec__solved_at=5)
    assert run.outcome.status == "solved"
    assert run.outcome.solved
    assert run.outcome.env_steps == 2 * STEPS, "not one update more"
    rows = run.metrics()
    assert [row["time/updates"] for row in rows] == [1, 2]
    assert rows[-1]["eval/solved"] == 1
    (entry,) = registry.entries(tmp_path)
    assert (entry.status, entry.solved) == ("finished", True)
    assert entry.best_score == run.outcome.best_score == rows[-1]["eval/return/mean"]
    assert [c.env_steps for c in list_checkpoints(run.folder)] == [2 * STEPS]
    assert api.evaluate(run.id, episodes=5, runs_dir=tmp_path).solved is True


def test_solved_is_recorded_where_it_does_not_stop(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, env__spec__solved_at=5)
    assert (run.outcome.status, run.outcome.solved, run.outcome.env_steps) == ("finished", True, 6 * STEPS)
    other = train("CartPole-v1:ppo", tmp_path, stop__eval_return=5, env__spec__solved_at=400)
    assert (other.outcome.status, other.outcome.solved) == ("finished", False)
    assert other.outcome.env_steps == 2 * STEPS
    assert "(target 5)" in other.outcome.reason


def test_key_evaluates_at_once(
    train: Train, tmp_path: Path, press: Callable[[dict[int, Request]], TerminalKeys]
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, requests=press({3: Request.EVALUATE}), eval__every=0)
    assert evaluated(run) == [3]
    assert api.evaluate(f"{run.id}/@best", episodes=5, runs_dir=tmp_path).env_steps == 3 * STEPS
