"""Streams of rewards with a value head of their own, against sums written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.batch import gae_batch
from gymnast.algorithms.returns import gae
from gymnast.rollout.buffer import Rollout, allocate_rollout
from gymnast.rollout.streams import Stream

T, N = 9, 4
GAMMA, LAMBDA = 0.9, 0.8


def random_rollout(seed: int) -> Rollout:
    rng = np.random.default_rng(seed)
    rollout = allocate_rollout(T, N, (2,), np.dtype(np.float32), (), np.int64, n_values=2)
    for array in (rollout.rewards, rollout.values, rollout.head_values):
        assert array is not None
        array[...] = rng.normal(size=array.shape)
    ends = rng.random((T, N))
    rollout.terminated[...], rollout.truncated[...] = ends < 0.15, ends > 0.85
    assert rollout.head_bootstrap is not None
    rollout.bootstrap[...] = rng.normal(size=(T, N)) * rollout.truncated
    rollout.head_bootstrap[...] = rng.normal(size=(1, T, N)) * rollout.truncated
    rollout.x = np.zeros((T * N, 2), np.float32)
    return rollout


def stream_of(rollout: Rollout, seed: int, *, episodic: bool, weight: float = 0.5) -> Stream:
    assert rollout.head_values is not None
    assert rollout.head_bootstrap is not None
    rewards = np.random.default_rng(seed + 1).exponential(size=(T, N)).astype(np.float32)
    return Stream(
        "intrinsic", rewards, rollout.head_values[0], rollout.head_bootstrap[0], GAMMA, weight, episodic
    )


@given(seed=st.integers(0, 10_000))
def test_non_episodic_advantages_run_through_episode_ends(seed: int) -> None:
    rollout = random_rollout(seed)
    stream = stream_of(rollout, seed, episodic=False)
    r, v = stream.rewards.astype(np.float64), stream.values.astype(np.float64)
    expected = np.zeros((T, N))
    for t in range(T):
        # A = (1-λ) Σ λ^(k-1) (k-step return) + the last one's rest, less the value: written out
        for k in range(1, T - t + 1):
            k_step = sum(GAMMA**i * r[t + i] for i in range(k)) + GAMMA**k * v[t + k]
            share = LAMBDA ** (k - 1) * (1 if k == T - t else 1 - LAMBDA)
            expected[t] += share * (k_step - v[t])
    assert_allclose(stream.advantages(rollout, LAMBDA), expected, atol=1e-4)


@given(seed=st.integers(0, 10_000))
def test_episodic_stream_ends_and_bootstraps_as_the_env_reward_does(seed: int) -> None:
    rollout = random_rollout(seed)
    stream = stream_of(rollout, seed, episodic=True)
    expected = gae(
        stream.rewards,
        stream.values,
        rollout.terminated,
        rollout.truncated,
        stream.bootstrap,
        GAMMA,
        LAMBDA,
    )
    assert (stream.advantages(rollout, LAMBDA) == expected).all()
    if (rollout.terminated | rollout.truncated)[:-1].any():
        running = stream_of(rollout, seed, episodic=False)
        assert (running.advantages(rollout, LAMBDA) != expected).any()


@given(seed=st.integers(0, 10_000), weight=st.floats(0, 3), episodic=st.booleans())
def test_advantages_are_summed_by_weight_and_each_head_has_its_own_returns(
    seed: int, weight: float, episodic: bool
) -> None:
    rollout = random_rollout(seed)
    plain = gae_batch(rollout, 0.99, LAMBDA)
    stream = stream_of(rollout, seed, episodic=episodic, weight=weight)
    rollout.streams = (stream,)
    batch = gae_batch(rollout, 0.99, LAMBDA)
    own = stream.advantages(rollout, LAMBDA).reshape(-1)
    assert_allclose(batch.advantages, plain.advantages + np.float32(weight) * own, rtol=1e-6, atol=1e-6)
    assert batch.values.shape == batch.returns.shape == (2, T * N)
    assert (batch.returns[0] == plain.returns).all()
    assert (batch.values[0] == plain.values).all()
    assert_allclose(batch.returns[1], own + stream.values[:-1].reshape(-1), atol=1e-6)
