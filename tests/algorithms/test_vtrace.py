"""V-trace against its definition (Espeholt et al., 2018), and against GAE where nothing is off-policy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gymnast.algorithms.returns import gae, vtrace


def by_definition(
    rewards: np.ndarray,
    values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    bootstrap: np.ndarray,
    weights: np.ndarray,
    gamma: float,
    lam: float,
    rho_clip: float,
    trace_clip: float,
) -> tuple[np.ndarray, np.ndarray]:
    """v_s = V(x_s) + Σ_t γ^(t-s) (Π_{i=s}^{t-1} λ c_i) ρ_t δ_t, up to the end of s's own episode, and the
    advantage r_s + γ v_{s+1} - V(x_s), of which λ takes a share of what lies beyond the next value."""
    steps, envs = rewards.shape
    targets, advantages = values[:-1].astype(float), np.zeros((steps, envs))
    for n in range(envs):
        for s in range(steps):
            product = 1.0
            for t in range(s, steps):
                over = terminated[t, n] or truncated[t, n]
                after = bootstrap[t, n] if over else values[t + 1, n]
                error = rewards[t, n] + gamma * after - values[t, n]
                targets[s, n] += product * min(rho_clip, weights[t, n]) * error
                if over:
                    break
                product *= gamma * lam * min(trace_clip, weights[t, n])
        for s in range(steps):
            over = terminated[s, n] or truncated[s, n]
            after = bootstrap[s, n] if over else values[s + 1, n]
            beyond = 0.0 if over or s == steps - 1 else targets[s + 1, n] - values[s + 1, n]
            advantages[s, n] = rewards[s, n] + gamma * (after + lam * beyond) - values[s, n]
    return advantages, targets


def drawn(steps: int, envs: int, ends: float, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(steps, envs)).astype(np.float32)
    values = rng.normal(size=(steps + 1, envs)).astype(np.float32)
    terminated, truncated = rng.random((2, steps, envs)) < ends
    only_cut = truncated & ~terminated
    bootstrap = np.where(only_cut, rng.normal(size=(steps, envs)), 0).astype(np.float32)
    weights = np.exp(rng.normal(size=(steps, envs))).astype(np.float32)
    return rewards, values, terminated, truncated, bootstrap, weights


SIZES = {
    "steps": st.integers(1, 12),
    "envs": st.integers(1, 4),
    "gamma": st.sampled_from([0.0, 0.9, 0.99, 1.0]),
    "lam": st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    "ends": st.sampled_from([0.0, 0.2, 0.9]),
    "seed": st.integers(0, 10_000),
}


@given(rho_clip=st.sampled_from([0.5, 1.0, 3.0]), trace_clip=st.sampled_from([0.5, 1.0, 3.0]), **SIZES)
def test_vtrace_is_its_definition(
    steps: int,
    envs: int,
    gamma: float,
    lam: float,
    ends: float,
    seed: int,
    rho_clip: float,
    trace_clip: float,
) -> None:
    inputs = drawn(steps, envs, ends, seed)
    copies = [array.copy() for array in inputs]
    advantages, targets = vtrace(*inputs, gamma, lam, rho_clip, trace_clip)
    expected = by_definition(*inputs, gamma, lam, rho_clip, trace_clip)
    assert_allclose(advantages, expected[0], rtol=1e-4, atol=1e-4)
    assert_allclose(targets, expected[1], rtol=1e-4, atol=1e-4)
    for given_array, copy in zip(inputs, copies, strict=True):
        assert_array_equal(given_array, copy)


@given(**SIZES)
def test_on_policy_vtrace_is_gae_bit_for_bit(
    steps: int, envs: int, gamma: float, lam: float, ends: float, seed: int
) -> None:
    *inputs, weights = drawn(steps, envs, ends, seed)
    advantages, targets = vtrace(*inputs, np.ones_like(weights), gamma, lam)
    expected = gae(*inputs, gamma, lam)
    assert_array_equal(advantages, expected)
    assert_array_equal(targets, expected + inputs[1][:-1])


def test_an_action_that_the_policy_would_not_take_any_more_hardly_counts() -> None:
    rewards, values = np.array([[5.0], [1.0]], np.float32), np.zeros((3, 1), np.float32)
    never, none = np.zeros((2, 1), bool), np.zeros((2, 1), np.float32)
    weights = np.array([[1e-6], [1.0]], np.float32)
    advantages, targets = vtrace(rewards, values, never, never, none, weights, 0.9, 1.0)
    assert targets[0, 0] < 1e-4  # neither its reward nor what followed it is a target
    assert advantages[0, 0] == np.float32(5.0 + 0.9)  # PPO's own ratio weighs this one
    assert targets[1, 0] == 1.0
