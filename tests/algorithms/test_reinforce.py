"""REINFORCE's targets against episodes taken one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.reinforce import Reinforce, ReinforceConfig
from gymnast.optimizers.build import build_optimizer
from gymnast.rollout.buffer import Rollout
from gymnast.training.target_metrics import target_metrics
from gymnast.training.update import update

GAMMA = 0.9


def by_hand(rollout: Rollout, config: ReinforceConfig) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(credited returns, returns to go, what counts), [T, N], one episode at a time."""
    t, n = rollout.rewards.shape
    learned = config.baseline == "value"
    to_go, credited, counts = np.zeros((t, n)), np.zeros((t, n)), np.zeros((t, n), bool)
    for env in range(n):
        start, whole = 0, bool(rollout.begun[env])
        for step in range(t):
            over = rollout.terminated[step, env] or rollout.truncated[step, env]
            if not over and step < t - 1:
                continue
            after = 0.0
            if learned and rollout.truncated[step, env]:
                after = float(rollout.bootstrap[step, env])
            elif learned and not over:
                after = float(rollout.values[-1, env])
            for at in range(step, start - 1, -1):
                after = float(rollout.rewards[at, env]) + GAMMA * after
                to_go[at, env] = after
            known = (over or learned) and (config.reward_to_go or whole)
            for at in range(start, step + 1):
                credited[at, env] = to_go[at, env] if config.reward_to_go else to_go[start, env]
                counts[at, env] = known
                if learned:
                    credited[at, env] -= rollout.values[at if config.reward_to_go else start, env]
            start, whole = step + 1, True
    return credited, to_go, counts


@settings(max_examples=60)
@given(
    t=st.integers(1, 15),
    seed=st.integers(0, 1000),
    reward_to_go=st.booleans(),
    baseline=st.sampled_from(["none", "mean", "value"]),
)
def test_targets_are_those_of_episodes_one_by_one(
    make_rollout: Any, t: int, seed: int, reward_to_go: bool, baseline: Any
) -> None:
    rollout = make_rollout(t, 3, seed)
    config = ReinforceConfig(reward_to_go=reward_to_go, baseline=baseline, gamma=GAMMA)
    algo = Reinforce(config)
    batch = algo.targets(rollout, algo.hyperparameters(0, 1))
    credited, to_go, counts = by_hand(rollout, config)
    weights = np.ones(t * 3) if batch.weights is None else batch.weights
    assert (weights.reshape(t, 3) == counts).all()
    if baseline == "mean" and counts.any():
        credited = credited - credited[counts].mean()
    assert_allclose(batch.advantages.reshape(t, 3)[counts], credited[counts], rtol=1e-4, atol=1e-4)
    assert_allclose(batch.returns.reshape(t, 3)[counts], to_go[counts], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reward_to_go", [True, False])
def test_no_baseline_is_the_mean_where_advantages_are_normalised(
    make_rollout: Any, reward_to_go: bool
) -> None:
    rollout = make_rollout(40, 3, 5)
    prepared = []
    for baseline in ("none", "mean"):
        algo = Reinforce(ReinforceConfig(baseline=baseline, reward_to_go=reward_to_go))
        batch = algo.targets(rollout, algo.hyperparameters(0, None))
        counted = slice(None) if batch.weights is None else batch.weights > 0
        prepared.append(algo.prepare(np, batch).advantages[counted])
    assert len(prepared[0]) > 2
    np.testing.assert_allclose(*prepared, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_samples_that_do_not_count_change_nothing(make_policy: Any, make_batch: Any, engine: str) -> None:
    results = []
    for noise in (0.0, 50.0):
        policy = make_policy(engine, 3)
        batch = make_batch(policy, 40, 3, weighted=True)
        assert batch.weights is not None
        batch.advantages[batch.weights == 0] += noise
        batch.returns[batch.weights == 0] += noise
        algo = Reinforce(ReinforceConfig(entropy_coef=0.1))
        stats = update(
            policy,
            build_optimizer(policy.network),
            algo,
            batch,
            algo.hyperparameters(0, 1),
            40,
            np.random.default_rng(0),
        )
        results.append((policy.arrays(), stats.metrics))
    for name, value in results[0][0].items():
        assert_allclose(value, results[1][0][name], atol=1e-6, err_msg=name)
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_a_rollout_in_which_no_episode_ended_is_skipped(
    make_policy: Any, make_rollout: Any, engine: str
) -> None:
    policy = make_policy(engine)
    rollout = make_rollout(5, 3, 0)
    rollout.terminated[...] = rollout.truncated[...] = False
    rollout.x = np.zeros((15, 4), np.float32)
    algo = Reinforce(ReinforceConfig(baseline="mean"))
    hp = algo.hyperparameters(0, 1)
    batch = algo.targets(rollout, hp)
    before, optimizer = policy.arrays(), build_optimizer(policy.network)
    stats = update(policy, optimizer, algo, batch, hp, 15, np.random.default_rng(0))
    assert stats.epochs == 0
    assert stats.metrics == {}
    assert optimizer.state()["steps"] == 0
    assert all((before[name] == value).all() for name, value in policy.arrays().items())
    assert target_metrics(batch, critic=False) == {"train/used_samples": 0.0}


def test_the_critic_without_a_learned_baseline_stays_and_has_no_metrics(
    make_policy: Any, make_batch: Any
) -> None:
    policy = make_policy("numpy")
    batch = make_batch(policy, 32, 0)
    algo = Reinforce(ReinforceConfig(baseline="mean"))
    before = policy.arrays()
    stats = update(
        policy,
        build_optimizer(policy.network),
        algo,
        batch,
        algo.hyperparameters(0, 1),
        32,
        np.random.default_rng(0),
    )
    after = policy.arrays()
    moved = {name for name in after if (after[name] != before[name]).any()}
    assert moved == {"actor.0.weight", "actor.0.bias", "action_head.weight", "action_head.bias"}
    assert "train/loss/value" not in stats.metrics
    assert "train/explained_variance" not in target_metrics(batch, critic=algo.uses_critic)
