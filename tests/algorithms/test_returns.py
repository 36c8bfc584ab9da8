"""Advantages against their definition, written as the plain double sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.returns import gae


def by_definition(
    rewards: np.ndarray,
    values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    bootstrap: np.ndarray,
    gamma: float,
    lam: float,
) -> np.ndarray:
    """A_t = Σ_l (γλ)^l δ_{t+l}, up to the end of t's own episode."""
    steps, envs = rewards.shape
    advantages = np.zeros((steps, envs))
    for n in range(envs):
        for t in range(steps):
            for k in range(t, steps):
                if terminated[k, n]:
                    after = 0.0
                elif truncated[k, n]:
                    after = bootstrap[k, n]
                else:
                    after = values[k + 1, n]
                delta = rewards[k, n] + gamma * after - values[k, n]
                advantages[t, n] += (gamma * lam) ** (k - t) * delta
                if terminated[k, n] or truncated[k, n]:
                    break
    return advantages


@given(
    steps=st.integers(1, 12),
    envs=st.integers(1, 4),
    gamma=st.sampled_from([0.0, 0.9, 0.99, 1.0]),
    lam=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    ends=st.sampled_from([0.0, 0.2, 0.9]),
    seed=st.integers(0, 10_000),
)
def test_gae_is_its_definition(
    steps: int, envs: int, gamma: float, lam: float, ends: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(steps, envs)).astype(np.float32)
    values = rng.normal(size=(steps + 1, envs)).astype(np.float32)
    terminated, truncated = rng.random((2, steps, envs)) < ends  # both at once is a termination
    only_cut = truncated & ~terminated
    bootstrap = np.where(only_cut, rng.normal(size=(steps, envs)), 0).astype(np.float32)
    inputs = [array.copy() for array in (rewards, values, terminated, truncated, bootstrap)]
    ours = gae(*inputs, gamma, lam)
    assert ours.dtype == np.float32
    expected = by_definition(rewards, values, terminated, truncated, bootstrap, gamma, lam)
    assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)
    for array, before in zip(inputs, (rewards, values, terminated, truncated, bootstrap), strict=True):
        assert (array == before).all(), "targets must not change the rollout"


@pytest.mark.parametrize("every", [1, 3, 7])
@pytest.mark.parametrize("lam", [0.0, 0.95, 1.0])
def test_a_time_limit_does_not_change_the_value_of_an_endless_task(every: int, lam: float) -> None:
    """Reward 1 for ever is worth 1/(1-γ), however often the episode is cut off."""
    gamma, steps = 0.9, 21
    worth = 1 / (1 - gamma)
    truncated = (np.arange(1, steps + 1) % every == 0)[:, None]
    values = np.full((steps + 1, 1), worth, np.float32)
    bootstrap = np.where(truncated, worth, 0).astype(np.float32)
    rewards = np.ones((steps, 1), np.float32)
    advantages = gae(rewards, values, np.zeros_like(truncated), truncated, bootstrap, gamma, lam)
    assert_allclose(advantages, 0, atol=1e-5)  # the true value is a fixed point

    # and from a critic that knows nothing, repeated updates lead there
    guess = np.float32(0)
    for _ in range(300):
        held = np.full_like(values, guess)
        cut = np.where(truncated, guess, 0).astype(np.float32)
        guess += gae(rewards, held, np.zeros_like(truncated), truncated, cut, gamma, lam).mean()
    assert guess == pytest.approx(worth, rel=1e-3)


def test_an_episode_that_ends_has_no_future_and_hides_the_next_one() -> None:
    rewards = np.array([[1.0], [0.0]], np.float32)
    values = np.array([[0.0], [100.0], [100.0]], np.float32)
    end, go = np.array([[True], [False]]), np.zeros((2, 1), bool)
    none = np.zeros((2, 1), np.float32)
    assert gae(rewards, values, end, go, none, 0.99, 0.95)[0, 0] == 1.0
    seven = np.array([[7.0], [0.0]], np.float32)
    assert gae(rewards, values, go, end, seven, 0.99, 0.95)[0, 0] == pytest.approx(1 + 0.99 * 7)
