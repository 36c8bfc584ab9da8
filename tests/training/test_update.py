"""One update: epochs of minibatches, on either engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.optimizers.build import build_optimizer
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.training.update import UpdateStats, measured_from_here, update

ENGINES = pytest.mark.parametrize("engine", ["numpy", "torch"])
OBS, ACTIONS = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(3)


def make_policy(engine: str, seed: int = 0) -> Policy:
    return build_policy(PolicyConfig(hidden=(16,)), engine, OBS, ACTIONS, seed)


def make_batch(policy: Policy, n: int, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    actions = rng.integers(0, 3, n)
    log_probs, values = policy.evaluate_actions(x, actions)
    advantages = (actions == 1).astype(np.float32)  # action 1 is the good one
    return Batch(x, actions, log_probs, values, advantages, np.full(n, 3.0, np.float32))


def run(
    policy: Policy, batch: Batch, batch_size: int, seed: int = 0, algo: PPO | None = None, **config: Any
) -> UpdateStats:
    algo = algo or PPO(PPOConfig(**config))
    optimizer = build_optimizer(policy.network)
    return update(
        policy, optimizer, algo, batch, algo.hyperparameters(0, 1), batch_size, np.random.default_rng(seed)
    )


class Watched(PPO):
    """PPO that remembers which samples it was given."""

    def __init__(self, config: PPOConfig) -> None:
        super().__init__(config)
        self.minibatches: list[np.ndarray] = []

    def loss(self, xp: Any, new: Any, values: Any, batch: Batch, hp: Any) -> Any:
        self.minibatches.append(np.asarray(batch.returns).copy())
        return super().loss(xp, new, values, batch, hp)


@ENGINES
@settings(max_examples=10)
@given(n=st.integers(2, 40), batch_size=st.integers(1, 40), epochs=st.integers(1, 3))
def test_an_epoch_sees_every_sample_once(engine: str, n: int, batch_size: int, epochs: int) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, n)
    batch = Batch(
        batch.x,
        batch.actions,
        batch.log_probs,
        batch.values,
        batch.advantages,
        np.arange(n, dtype=np.float32),
    )
    algo = Watched(PPOConfig(n_epochs=epochs))
    size = min(batch_size, n)
    stats = run(policy, batch, size, algo=algo)
    assert stats.epochs == epochs
    assert not stats.stopped_by_kl
    per_epoch = -(-n // size)
    assert len(algo.minibatches) == epochs * per_epoch
    for epoch in range(epochs):
        seen = np.concatenate(algo.minibatches[epoch * per_epoch : (epoch + 1) * per_epoch])
        assert sorted(seen.tolist()) == list(range(n))


@ENGINES
def test_epochs_shuffle_differently(engine: str) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 64)
    batch = Batch(
        batch.x,
        batch.actions,
        batch.log_probs,
        batch.values,
        batch.advantages,
        np.arange(64, dtype=np.float32),
    )
    algo = Watched(PPOConfig(n_epochs=2))
    run(policy, batch, 16, algo=algo)
    assert not (algo.minibatches[0] == algo.minibatches[4]).all()


@ENGINES
@pytest.mark.parametrize("batch_size", [8, 32])
def test_seed_decides_every_bit(engine: str, batch_size: int) -> None:
    weights = []
    for seed in (5, 5, 6):
        policy = make_policy(engine)
        run(policy, make_batch(policy, 32), batch_size, seed)
        weights.append(b"".join(value.tobytes() for value in policy.arrays().values()))
    assert weights[0] == weights[1]
    assert (weights[0] == weights[2]) == (batch_size == 32)  # one minibatch of all samples has no order


@ENGINES
@pytest.mark.parametrize("batch_size", [16, 64])
def test_good_action_becomes_more_likely_and_values_approach_their_targets(
    engine: str, batch_size: int
) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 64)
    ones = np.ones(64, np.int64)
    before, values_before = policy.evaluate_actions(batch.x, ones)
    stats = run(policy, batch, batch_size, lr=1e-2, n_epochs=30)
    after, values_after = policy.evaluate_actions(batch.x, ones)
    assert (after > before).mean() > 0.9
    assert abs(values_after - 3.0).mean() < abs(values_before - 3.0).mean()
    assert stats.metrics["train/kl"] > 0
    assert stats.metrics["opt/grad_norm"] > 0
    assert all(type(value) is float and np.isfinite(value) for value in stats.metrics.values())


@ENGINES
def test_the_batch_is_left_as_it_was(engine: str) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 32)
    given = [name for name in Batch.__slots__ if getattr(batch, name) is not None]
    before = [getattr(batch, name).copy() for name in given]
    run(policy, batch, 8)
    run(policy, batch, 32)
    for name, value in zip(given, before, strict=True):
        assert (getattr(batch, name) == value).all(), name


@ENGINES
def test_the_first_minibatch_has_ratio_one(engine: str) -> None:
    """Collected and updated by the same weights: nothing is clipped and nothing has moved."""
    policy = make_policy(engine)
    stats = run(policy, make_batch(policy, 64), 64, n_epochs=1)
    assert stats.metrics["train/kl"] == pytest.approx(0, abs=1e-6)
    assert stats.metrics["train/clip_fraction"] == 0
    assert stats.metrics["train/ratio/max"] == pytest.approx(1, abs=1e-5)


@ENGINES
def test_update_stops_before_the_step_that_exceeds_target_kl(engine: str) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 64)
    stats = run(policy, batch, 64, lr=0.05, n_epochs=50, target_kl=0.01)
    assert stats.stopped_by_kl
    assert 1 < stats.epochs < 50
    # A policy that is already too far away takes no step at all.
    far = make_policy(engine)
    shifted = Batch(
        batch.x, batch.actions, batch.log_probs - 1, batch.values, batch.advantages, batch.returns
    )
    weights = far.arrays()
    stats = run(far, shifted, 16, target_kl=0.01)
    assert stats.stopped_by_kl
    assert stats.epochs == 1
    assert all((weights[name] == value).all() for name, value in far.arrays().items())


@ENGINES
@pytest.mark.parametrize("batch_size", [16, 64])
def test_kl_since_the_beginning_ignores_what_the_policy_moved_before(engine: str, batch_size: int) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 64)
    older = replace(batch, log_probs=batch.log_probs - 1)  # as if another policy had collected
    first = run(policy, measured_from_here(policy, older), batch_size, lr=0.0, target_kl=0.01)
    assert not first.stopped_by_kl
    assert first.metrics["train/kl"] == pytest.approx(0, abs=1e-6)
    assert first.metrics["train/ratio/max"] == pytest.approx(np.e, rel=1e-4)  # still that of the collector
    stats = run(policy, measured_from_here(policy, older), batch_size, lr=0.05, n_epochs=50, target_kl=0.01)
    assert stats.stopped_by_kl
    assert 0 < stats.metrics["train/kl"] < 0.1


@ENGINES
def test_metrics_are_means_over_the_minibatches(engine: str) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 20)
    still = run(policy, batch, 5, lr=0.0, n_epochs=2)
    whole = run(policy, batch, 20, lr=0.0, n_epochs=1)
    for key in ("train/loss/value", "train/entropy"):  # means of equal parts, with weights that do not move
        assert still.metrics[key] == pytest.approx(whole.metrics[key], rel=1e-4)


@ENGINES
def test_gradients_are_clipped_but_reported_whole(engine: str) -> None:
    moved, norms = [], []
    for max_norm in (0.0, 1e-4):
        policy = make_policy(engine)
        batch = make_batch(policy, 32)
        before = policy.arrays()
        stats = run(policy, batch, 32, n_epochs=1, max_grad_norm=max_norm, lr=1e-3)
        norms.append(stats.metrics["opt/grad_norm"])
        moved.append(sum(float(abs(before[name] - value).sum()) for name, value in policy.arrays().items()))
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)
    assert norms[0] > 1e-2
    assert moved[1] < moved[0]  # Adam divides the scale out, except for what falls below its epsilon
