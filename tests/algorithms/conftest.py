"""Small policies, batches and rollouts to try algorithms on."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest

from gymnast.algorithms.batch import Batch
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.buffer import Rollout, allocate_rollout


def _policy(engine: str, seed: int = 0) -> Policy:
    space = gym.spaces.Box(-1.0, 1.0, (4,))
    return build_policy(
        PolicyConfig(hidden=(8,), actor_gain=1.0), engine, space, gym.spaces.Discrete(3), seed
    )


def _batch(policy: Policy, n: int, seed: int, weighted: bool = False) -> Batch:
    rng = np.random.default_rng(seed)
    x, actions = rng.normal(size=(n, 4)).astype(np.float32), rng.integers(0, 3, n)
    log_probs, values = policy.evaluate_actions(x, actions)
    advantages, targets = rng.normal(size=(2, n)).astype(np.float32)
    weights = (rng.random(n) < 0.6).astype(np.float32) if weighted else None
    return Batch(x, actions, log_probs, values, advantages, values + targets, weights)


def _rollout(t: int, n: int, seed: int) -> Rollout:
    rng = np.random.default_rng(seed)
    rollout = allocate_rollout(t, n, (4,), np.dtype(np.float32), (), np.int64)
    rollout.rewards[...] = rng.normal(size=(t, n))
    rollout.values[...] = rng.normal(size=(t + 1, n))
    rollout.terminated[...] = rng.random((t, n)) < 0.15
    rollout.truncated[...] = (rng.random((t, n)) < 0.15) & ~rollout.terminated
    rollout.bootstrap[...] = np.where(rollout.truncated, rng.normal(size=(t, n)), 0)
    rollout.begun = rng.random(n) < 0.5
    rollout.x = np.zeros((t * n, 4), np.float32)
    return rollout


@pytest.fixture(scope="session")
def make_policy() -> Callable[..., Policy]:
    return _policy


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., Batch]:
    return _batch


@pytest.fixture(scope="session")
def make_rollout() -> Callable[..., Rollout]:
    return _rollout
