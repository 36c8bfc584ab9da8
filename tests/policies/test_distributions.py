"""Action distributions against torch.distributions and autograd."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from torch import distributions as reference

from gymnast.errors import GymnastError
from gymnast.policies.distributions import (
    LOG_STD_RANGE,
    Categorical,
    Gaussian,
    SquashedGaussian,
    build_distribution,
    gumbel,
)
from gymnast.policies.layout import build_layout
from gymnast.policies.settings import PolicyConfig

LOW, HIGH = np.array([-2.0, 0.5, -1.0], np.float32), np.array([3.0, 0.75, 1.0], np.float32)
SPACE = gym.spaces.Box(LOW, HIGH)
seeds = st.integers(0, 2**31)


def arrays(xp: ModuleType, *values: np.ndarray) -> list[Any]:
    return [value if xp is np else torch.from_numpy(value.copy()) for value in values]


def normal(log_std: torch.Tensor, outputs: torch.Tensor) -> reference.Distribution:
    return reference.Independent(reference.Normal(outputs.T, log_std.exp().T.expand(outputs.T.shape)), 1)


def squashed(base: reference.Distribution) -> reference.TransformedDistribution:
    centre, reach = torch.from_numpy((LOW + HIGH) / 2), torch.from_numpy((HIGH - LOW) / 2)
    return reference.TransformedDistribution(
        base, [reference.TanhTransform(cache_size=1), reference.AffineTransform(centre, reach, event_dim=1)]
    )


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@settings(max_examples=25)
@given(seed=seeds, n_actions=st.integers(1, 9), scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_categorical(xp: ModuleType, seed: int, n_actions: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    b = 7
    logits = rng.normal(0, scale, (n_actions, b)).astype(np.float32)
    actions = rng.integers(0, n_actions, b)
    d_log_prob, d_entropy = rng.normal(size=(2, b)).astype(np.float32)

    leaf = torch.from_numpy(logits.copy()).requires_grad_()
    known = reference.Categorical(logits=leaf.T)
    log_prob, entropy = known.log_prob(torch.from_numpy(actions)), known.entropy()
    (
        (log_prob * torch.from_numpy(d_log_prob)).sum() + (entropy * torch.from_numpy(d_entropy)).sum()
    ).backward()

    ours = Categorical(gym.spaces.Discrete(n_actions))
    x, a, dl, de = arrays(xp, logits, actions, d_log_prob, d_entropy)
    evaluated = ours.evaluate_actions(xp, x, None, a)
    assert_allclose(evaluated.log_prob, log_prob.detach(), rtol=1e-4, atol=1e-5)
    assert_allclose(evaluated.entropy, entropy.detach(), rtol=1e-4, atol=1e-5)
    d_outputs, d_std = ours.backward(xp, evaluated, dl, de)
    assert d_std is None
    assert_allclose(d_outputs, leaf.grad, rtol=1e-3, atol=1e-5)
    no_bonus, _ = ours.backward(xp, evaluated, dl, 0.0)  # the shortcut when nothing is asked of the entropy
    assert_allclose(no_bonus, ours.backward(xp, evaluated, dl, 0.0 * de)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("state_dependent", [False, True])
@pytest.mark.parametrize("kind", [Gaussian, SquashedGaussian])
@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@settings(max_examples=15)
@given(seed=seeds)
def test_gaussian(xp: ModuleType, kind: type[Gaussian], state_dependent: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = 6
    outputs = rng.normal(size=(3, b)).astype(np.float32)
    log_std = rng.normal(0, 0.5, (3, b if state_dependent else 1)).astype(np.float32)
    ours = kind(SPACE, state_dependent)
    raw = ours.sample(outputs, log_std, rng.standard_normal((3, b)).astype(np.float32))
    d_log_prob, d_entropy = rng.normal(size=(2, b)).astype(np.float32)

    leaf, std_leaf = (torch.from_numpy(v.copy()).requires_grad_() for v in (outputs, log_std))
    base = normal(std_leaf, leaf)
    if kind is SquashedGaussian:
        # The env's action, kept in float64: in float32 tanh loses what log(1 - tanh²) needs.
        wide = squashed(normal(torch.from_numpy(log_std).double(), torch.from_numpy(outputs).double()))
        expected = wide.log_prob(
            torch.from_numpy((LOW + HIGH) / 2 + (HIGH - LOW) / 2 * np.tanh(raw.astype(np.float64)))
        )
    else:
        expected = base.log_prob(torch.from_numpy(raw.copy()))
    objective = base.log_prob(torch.from_numpy(raw.copy())) * torch.from_numpy(d_log_prob)
    (objective.sum() + (base.entropy() * torch.from_numpy(d_entropy)).sum()).backward()

    x, s, a, dl, de = arrays(xp, outputs, log_std, raw, d_log_prob, d_entropy)
    evaluated = ours.evaluate_actions(xp, x, s, a)
    assert_allclose(evaluated.log_prob, expected.detach(), rtol=1e-3, atol=1e-3)
    assert_allclose(evaluated.entropy, base.entropy().detach(), rtol=1e-4, atol=1e-5)
    d_outputs, d_log_std = ours.backward(xp, evaluated, dl, de)
    assert d_log_std is not None
    assert_allclose(d_outputs, leaf.grad, rtol=1e-3, atol=1e-4)
    if not state_dependent:
        d_log_std = d_log_std.sum(1)[:, None]
    assert_allclose(d_log_std, std_leaf.grad, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
def test_a_std_outside_its_range_is_held_and_gets_no_gradient(xp: ModuleType) -> None:
    ours = Gaussian(SPACE, state_dependent_std=True)
    log_std = np.array([[-9.0, 0.0], [LOG_STD_RANGE[0] - 1, 5.0], [1.0, -1.0]], np.float32)
    inside = (log_std > LOG_STD_RANGE[0]) & (log_std < LOG_STD_RANGE[1])
    x, s, a = arrays(xp, np.zeros((3, 2), np.float32), log_std, np.full((2, 3), 0.3, np.float32))
    evaluated = ours.evaluate_actions(xp, x, s, a)
    held = reference.Normal(torch.zeros(3, 2), torch.from_numpy(np.exp(np.clip(log_std, *LOG_STD_RANGE))))
    assert_allclose(evaluated.log_prob, held.log_prob(torch.tensor(0.3)).sum(0), rtol=1e-4)
    _, d_log_std = ours.backward(xp, evaluated, *arrays(xp, np.ones(2, np.float32)), 0.1)
    assert d_log_std is not None
    assert ((np.asarray(d_log_std) != 0) == inside).all()


def test_extreme_squashed_actions_have_finite_log_probabilities() -> None:
    ours = SquashedGaussian(SPACE, False)
    actions = np.full((1, 3), 60.0, np.float32)
    log_prob = ours.evaluate_actions(
        np, np.full((3, 1), 59.0, np.float32), np.zeros((3, 1), np.float32), actions
    ).log_prob
    assert np.isfinite(log_prob).all()
    assert (ours.to_env(actions) <= HIGH).all()


@pytest.mark.parametrize("n_actions", [2, 5])
def test_gumbel_noise_draws_from_the_softmax(n_actions: int) -> None:
    rng = np.random.default_rng(0)
    ours = Categorical(gym.spaces.Discrete(n_actions))
    logits = rng.normal(size=(n_actions, 1)).astype(np.float32)
    n = 40_000
    actions = ours.sample(logits, None, ours.noise(rng, 1, n)[0])
    counts = np.bincount(actions, minlength=n_actions)
    expected = n * torch.softmax(torch.from_numpy(logits[:, 0]), 0).numpy()
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 25  # with at most 4 degrees of freedom: once in 20,000 seeds


def test_gumbel_noise_of_a_draw_of_zero_is_like_that_of_the_smallest() -> None:
    """Exponential draws in float32 are 0 about once in ten million; -log of the smallest number is 69."""
    seed, shape = 2, (600_000,)
    zeros = np.random.default_rng(seed).standard_exponential(shape, np.float32) == 0
    assert zeros.any()
    noise = gumbel(np.random.default_rng(seed), shape)
    assert noise[zeros].max() == pytest.approx(-np.log(1e-8), rel=1e-5)
    assert noise[zeros].min() > noise[~zeros].max()


def test_noise_is_finite_and_covers_the_whole_rollout() -> None:
    ours = Categorical(gym.spaces.Discrete(3))
    noise = ours.noise(np.random.default_rng(0), 500, 64)
    assert noise.shape == (500, 3, 64)
    assert noise.dtype == np.float32
    assert np.isfinite(noise).all()
    # a Gumbel's mean is Euler's constant, its variance π²/6
    assert noise.mean() == pytest.approx(0.5772, abs=0.02)
    assert noise.var() == pytest.approx(np.pi**2 / 6, rel=0.03)


def test_gaussian_samples_have_the_asked_moments_and_the_env_gets_legal_actions() -> None:
    rng = np.random.default_rng(1)
    outputs, log_std = (
        np.array([[1.0], [-2.0], [0.0]], np.float32),
        np.log([[0.5], [1.0], [2.0]]).astype(np.float32),
    )
    for kind in (Gaussian, SquashedGaussian):
        ours = kind(SPACE, False)
        actions = ours.sample(outputs, log_std, ours.noise(rng, 1, 50_000)[0])
        assert actions.shape == (50_000, 3)
        assert_allclose(actions.mean(0), outputs[:, 0], atol=0.05)
        assert_allclose(actions.std(0), np.exp(log_std[:, 0]), rtol=0.03)
        env_actions = ours.to_env(actions)
        assert (env_actions >= LOW).all()
        assert (env_actions <= HIGH).all()
        assert_allclose(ours.mode(outputs), outputs.T)


def test_discrete_actions_start_where_the_space_does() -> None:
    ours = Categorical(gym.spaces.Discrete(3, start=5))
    assert ours.to_env(np.array([0, 2])).tolist() == [5, 7]
    assert ours.mode(np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 0.0]])).tolist() == [1, 0]


def test_squashing_needs_bounds() -> None:
    space = gym.spaces.Box(-np.inf, np.inf, (2,))
    layout = build_layout(PolicyConfig(gaussian="squashed"), SPACE, space)
    with pytest.raises(GymnastError, match="use 'clipped'"):
        build_distribution(layout)
    assert type(build_distribution(build_layout(PolicyConfig(), SPACE, space))) is Gaussian
