"""What is told of a rollout's data, where the answer is known."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.observe.data import data_metrics
from gymnast.observe.snapshot import quantiles
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.buffer import Rollout, allocate_rollout
from gymnast.rollout.source import Episode

T, N = 40, 6


def policy_of(space: gym.Space[Any], **settings: Any) -> Policy:
    return build_policy(PolicyConfig(**settings), "numpy", space, gym.spaces.Discrete(2), seed=0)


def rollout_of(policy: Policy, obs: np.ndarray) -> Rollout:
    """With these observations [T, N, …]."""
    rollout = allocate_rollout(T, N, obs.shape[2:], obs.dtype, (), np.int64)
    rollout.obs[:-1] = obs
    rollout.x = policy.preprocessor.apply(obs.reshape(T * N, *obs.shape[2:]))
    return rollout


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


BOX = gym.spaces.Box(-1, 1, (3,), np.float32)


def test_bounds_constants_and_scales_are_seen(rng: np.random.Generator) -> None:
    policy = policy_of(BOX)
    obs = rng.uniform(-1, 1, (T, N, 3)).astype(np.float32)
    obs[..., 0] = 0.5  # constant
    obs[..., 1] *= 0.1
    obs[:10, 0, 2] = 7.0  # outside
    found = data_metrics(policy, rollout_of(policy, obs), [])
    assert found["env/obs/constant"] == 1
    assert found["env/obs/outside"] == pytest.approx(10 / (T * N * 3))
    assert found["env/obs/std_min"] == pytest.approx(float(obs[..., 1].std()), rel=1e-4)
    assert found["env/obs/std_max"] == pytest.approx(float(obs[..., 2].std()), rel=1e-4)
    assert "env/obs/saturated" not in found  # nothing is normalised


def test_what_a_normaliser_cuts_off_is_counted(rng: np.random.Generator) -> None:
    policy = policy_of(BOX, normalize_obs="running", clip_obs=2.0)
    obs = rng.standard_normal((T, N, 3)).astype(np.float32)
    policy.preprocessor.observe(obs)
    obs[:3, 0, 0] = 1e6
    found = data_metrics(policy, rollout_of(policy, obs), [])
    inputs = np.abs(policy.preprocessor.apply(obs.reshape(-1, 3)))
    assert found["env/obs/saturated"] == np.count_nonzero(inputs == 2.0) / inputs.size > 0


def test_copies_that_are_the_same_are_counted(rng: np.random.Generator) -> None:
    policy = policy_of(BOX)
    obs = rng.uniform(-1, 1, (T, N, 3)).astype(np.float32)
    assert data_metrics(policy, rollout_of(policy, obs), [])["env/identical"] == 0
    obs[:, 4] = obs[:, 2] = obs[:, 1]
    rollout = rollout_of(policy, obs)
    assert data_metrics(policy, rollout, [])["env/identical"] == 3
    rollout.rewards[5, 4] = 1.0  # seen the same, paid otherwise
    assert data_metrics(policy, rollout, [])["env/identical"] == 2


@pytest.mark.parametrize("space", [BOX, gym.spaces.Discrete(9)], ids=["numbers", "choices"])
def test_diversity_is_0_of_copies_in_step_and_1_of_unrelated_ones(
    space: gym.Space[Any], rng: np.random.Generator
) -> None:
    policy = policy_of(space)
    if isinstance(space, gym.spaces.Box):
        obs = rng.uniform(-1, 1, (T, N, 3)).astype(np.float32)
    else:
        obs = rng.integers(0, 9, (T, N))
    unrelated = data_metrics(policy, rollout_of(policy, obs), [])["env/diversity"]
    assert unrelated == pytest.approx(1.0, abs=0.08)
    obs[:] = obs[:, :1]
    assert data_metrics(policy, rollout_of(policy, obs), [])["env/diversity"] == pytest.approx(0.0, abs=1e-9)
    obs[:] = obs[:1].copy() if isinstance(space, gym.spaces.Box) else np.arange(N)
    if not isinstance(space, gym.spaces.Box):  # each env stays in a place of its own
        assert data_metrics(policy, rollout_of(policy, obs), [])["env/diversity"] == 1.0


def test_rewards_are_looked_at_where_they_fall(rng: np.random.Generator) -> None:
    policy = policy_of(BOX)
    rollout = rollout_of(policy, rng.uniform(-1, 1, (T, N, 3)).astype(np.float32))
    assert "env/reward/gap" not in data_metrics(policy, rollout, [])  # nothing was paid
    ends = [(t, n) for t in range(9, T, 10) for n in range(N)]
    for index, (t, n) in enumerate(ends):
        rollout.terminated[t, n] = True
        rollout.rewards[t, n] = rollout.values[t, n] = index % 5 + 1
    episodes = [Episode(2.0 * (index % 5 + 1), 0.0, 10) for index in range(len(ends))]
    found = data_metrics(policy, rollout, episodes)
    assert found["env/reward/gap"] == 10
    assert found["env/reward/last_share"] == 0.5
    assert found["env/reward/abs_p99"] == 5
    assert found["train/terminal_corr"] == pytest.approx(1.0)
    rollout.values *= -1
    assert data_metrics(policy, rollout, episodes)["train/terminal_corr"] == pytest.approx(-1.0)
    rollout.terminated[10:] = False  # too few
    assert "train/terminal_corr" not in data_metrics(policy, rollout, episodes)


def test_quantiles_run_from_the_least_to_the_greatest(rng: np.random.Generator) -> None:
    values = rng.standard_normal(100_001).astype(np.float32)
    found = quantiles(values)
    assert found[0] == values.min()
    assert found[-1] == values.max()
    assert (np.diff(found) >= 0).all()
    assert found[10] == pytest.approx(0, abs=0.05)
    assert quantiles(np.arange(21.0)).tolist() == list(range(21))
    assert np.isnan(quantiles(np.empty(0))).all()
