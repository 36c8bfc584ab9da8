"""PopArt: values stay as they are when statistics move; both engines; saved, and exact over a resume."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast import api
from gymnast.algorithms.batch import Batch
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig

OBS, ACTIONS = gym.spaces.Box(-1.0, 1.0, (3,)), gym.spaces.Discrete(2)
ENGINES = pytest.mark.parametrize("engine", ["numpy", "torch"])


def make_policy(engine: str, seed: int = 0, rate: float = 1e-2) -> Policy:
    config = PolicyConfig(hidden=(8,), popart=True, popart_rate=rate)
    return build_policy(config, engine, OBS, ACTIONS, seed)


def inputs(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, 3)).astype(np.float32)


@ENGINES
@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    moves=st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0.0, 500)), min_size=1, max_size=4),
)
def test_values_do_not_change_when_statistics_move(
    engine: str, seed: int, moves: list[tuple[float, float]]
) -> None:
    policy = make_policy(engine, seed)
    assert policy.popart is not None
    x, rng = inputs(6, seed), np.random.default_rng(seed)
    before = policy.values(x)
    for mean, spread in moves:
        policy.popart.take(rng.normal(mean, spread, 50).astype(np.float32))
        assert policy.popart.std >= 1e-4
        # Float32 keeps seven digits of the largest number on the way: v itself, or the mean.
        unit = abs(policy.popart.mean) + policy.popart.std * (
            1 + abs(before - policy.popart.mean).max() / policy.popart.std
        )
        assert_allclose(policy.values(x), before, atol=2e-5 * unit + 1e-5)
    log_probs, values = policy.evaluate_actions(x, np.zeros(6, np.int64))
    assert_allclose(values, policy.values(x), rtol=1e-6)
    assert log_probs.shape == (6,)


@ENGINES
def test_statistics_follow_the_targets_and_the_head_sees_them_normalised(engine: str) -> None:
    policy = make_policy(engine, rate=0.5)
    assert policy.popart is not None
    rng = np.random.default_rng(0)
    targets = rng.normal(300, 20, 4000).astype(np.float32)
    zeros = np.zeros(4000, np.float32)
    batch = Batch(zeros, zeros, zeros, zeros, zeros, targets)
    seen = policy.popart.normalize(batch)
    assert policy.popart.mean == pytest.approx(float(targets.mean()), rel=1e-5)
    assert policy.popart.std == pytest.approx(float(targets.std()), rel=1e-3)
    assert_allclose([seen.returns.mean(), seen.returns.std()], [0, 1], atol=1e-3)
    assert_allclose(policy.popart.real(seen.returns), targets, rtol=1e-5)
    assert_allclose(policy.popart.real(seen.values), batch.values, atol=1e-3)
    assert seen.advantages is batch.advantages  # the actor's advantages stay in the env's own units


def test_samples_without_weight_change_nothing() -> None:
    policies = [make_policy("numpy") for _ in range(2)]
    rng = np.random.default_rng(0)
    targets, zeros = rng.normal(5, 2, 40).astype(np.float32), np.zeros(40, np.float32)
    weights = (np.arange(40) < 25).astype(np.float32)
    for policy, junk in zip(policies, (0.0, 1e4), strict=True):
        assert policy.popart is not None
        returns = np.where(weights > 0, targets, junk).astype(np.float32)
        policy.popart.normalize(Batch(zeros, zeros, zeros, zeros, zeros, returns, weights))
    assert policies[0].popart.std == policies[1].popart.std  # type: ignore[union-attr]


@ENGINES
def test_a_checkpoint_carries_the_statistics(engine: str) -> None:
    policy = make_policy(engine)
    assert policy.popart is not None
    policy.popart.take(np.array([10.0, 30.0, 20.0], np.float32))
    for other in ("numpy", "torch"):
        again = make_policy(other, seed=9)
        again.load_arrays(policy.arrays())
        assert again.popart is not None
        assert (again.popart.mean, again.popart.std) == (policy.popart.mean, policy.popart.std)
        assert_allclose(again.values(inputs(5, 0)), policy.values(inputs(5, 0)), rtol=1e-5)


@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_training_resumes_bit_for_bit(
    algo: str,
    train: Callable[..., api.Run],
    stop_after: Any,
    assert_same_run: Any,
    tmp_path: Path,
) -> None:
    changes: dict[str, Any] = {"policy__popart": True, "algo__name": algo}
    straight = train("CartPole-v1:ppo", tmp_path / "one", **changes)
    train("CartPole-v1:ppo", tmp_path / "two", requests=stop_after(3), **changes)
    resumed = api.resume("@last", runs_dir=tmp_path / "two")
    assert_same_run(straight, resumed)
    row = straight.metrics()[-1]
    assert row["train/popart/std"] > 0
    assert np.isfinite(row["train/loss/value"])


def value_of_large_rewards(runs_dir: Path, popart: bool) -> float:
    changes = {
        "env.n_envs": 8,
        "env.backend": "sync",
        "env.kwargs": {"arms": [0.0, 1e5], "kind": "gaussian"},
        "env.spec.action_labels": ["nothing", "much"],
        "algo.gamma": 0.0,
        "algo.lr": 5e-3,
        "policy.popart": popart,
        "policy.popart_rate": 1e-3,
        "eval.every": 0,
    }
    run = api.train("gymnast/Bandit-v0:ppo", overrides=changes, max_env_steps=16_000, runs_dir=runs_dir)
    return float(api.load_policy(f"{run.id}/@last", runs_dir=runs_dir).values(np.zeros(1, np.int64))[0])


def test_popart_learns_values_of_any_size(tmp_path: Path) -> None:
    """Rewards of 100,000: without normalisation the critic would need as many steps to get there."""
    assert value_of_large_rewards(tmp_path / "with", True) == pytest.approx(1e5, rel=0.1)
    assert value_of_large_rewards(tmp_path / "without", False) < 1e3
