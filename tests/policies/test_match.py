"""KL to a target distribution and its derivatives, against torch.distributions and autograd."""

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

from gymnast.policies.distributions import LOG_STD_RANGE, Gaussian, build_distribution
from gymnast.policies.layout import build_layout
from gymnast.policies.settings import PolicyConfig
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.masks import masked

B = 5
BOX = gym.spaces.Box(-2.0, 3.0, (3,))
SPACES: tuple[gym.Space[Any], ...] = (
    gym.spaces.Discrete(4),
    gym.spaces.Discrete(1),
    BOX,
    gym.spaces.MultiDiscrete([2, 3, 3, 4]),
    gym.spaces.MultiBinary(3),
    gym.spaces.Tuple([BOX, gym.spaces.Discrete(3), gym.spaces.MultiBinary(2)]),
    gym.spaces.Dict({"a": gym.spaces.Discrete(2), "b": gym.spaces.Box(-1.0, 1.0, (2,))}),
)


def arrays(xp: ModuleType, *values: np.ndarray | None) -> list[Any]:
    return [v if v is None or xp is np else torch.from_numpy(v.copy()) for v in values]


def random_masks(form: ActionForm, rng: np.random.Generator) -> np.ndarray:
    """Any choices, at least one of each factor."""
    masks = rng.random((B, form.n_logits)) < 0.6
    at = 0
    for n in (n for n in form.sizes if n):
        masks[np.arange(B), at + rng.integers(0, n, B)] = True
        at += n
    return masks


def expected_kl(
    form: ActionForm,
    outputs: torch.Tensor,
    log_std: torch.Tensor,
    targets: torch.Tensor,
    target_log_std: torch.Tensor,
    masks: np.ndarray | None,
) -> torch.Tensor:
    """Row by row over the allowed choices alone, factor by factor; [B]."""
    rows = []
    for row in range(B):
        kl, at = torch.zeros(()), 0
        for n in (n for n in form.sizes if n):
            here = np.arange(at, at + n)
            here = here if masks is None else here[masks[row, here]]
            target, policy = (reference.Categorical(logits=o[here, row]) for o in (targets, outputs))
            kl = kl + reference.kl_divergence(target, policy)
            at += n
        if form.n_means:
            wide = (o.expand(form.n_means, B)[:, row].exp() for o in (target_log_std, log_std))
            means = targets[at:, row], outputs[at:, row]
            target_normal, normal = (reference.Normal(m, s) for m, s in zip(means, wide, strict=True))
            kl = kl + reference.kl_divergence(target_normal, normal).sum()
        rows.append(kl)
    return torch.stack(rows)


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@settings(max_examples=60)
@given(
    space=st.sampled_from(SPACES),
    squashed=st.booleans(),
    state_dependent=st.booleans(),
    with_masks=st.booleans(),
    scale=st.sampled_from([0.01, 1.0, 10.0]),
    seed=st.integers(0, 2**31),
)
def test_kl_and_derivatives_are_those_of_torch(
    xp: ModuleType,
    space: gym.Space[Any],
    squashed: bool,
    state_dependent: bool,
    with_masks: bool,
    scale: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    config = PolicyConfig(gaussian="squashed" if squashed else "clipped", state_dependent_std=state_dependent)
    ours = build_distribution(build_layout(config, BOX, space))
    form = ActionForm(space)
    outputs, targets = rng.normal(0, scale, (2, form.n_logits + form.n_means, B)).astype(np.float32)
    stds = rng.normal(0, 0.5, (2, form.n_means, B if state_dependent else 1)).astype(np.float32)
    masks = random_masks(form, rng) if with_masks and form.n_logits else None

    leaf, std_leaf = (torch.from_numpy(v.copy()).requires_grad_() for v in (outputs, stds[0]))
    fixed = torch.from_numpy(targets), torch.from_numpy(stds[1])
    expected = expected_kl(form, leaf, std_leaf, *fixed, masks)
    expected.sum().backward()  # type: ignore[no-untyped-call]

    x, s, t, ts = arrays(xp, outputs, stds[0], targets, stds[1])
    if masks is not None:
        x, t = (masked(xp, each, *arrays(xp, masks)) for each in (x, t))
    has_std = form.n_means > 0
    kl, d_outputs, d_log_std = ours.match(xp, x, s if has_std else None, t, ts if has_std else None)
    assert kl.shape == (B,)
    assert_allclose(kl, expected.detach(), rtol=2e-3, atol=2e-4)
    assert_allclose(d_outputs, leaf.grad, rtol=2e-3, atol=2e-4)
    assert (d_log_std is not None) == has_std
    if d_log_std is not None:
        assert d_log_std.shape == (form.n_means, B)
        total = d_log_std if state_dependent else d_log_std.sum(1)[:, None]
        assert_allclose(total, std_leaf.grad, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_policy_that_is_the_target_has_nothing_to_gain(xp: ModuleType, space: gym.Space[Any]) -> None:
    ours = build_distribution(build_layout(PolicyConfig(), BOX, space))
    form, rng = ActionForm(space), np.random.default_rng(0)
    drawn = rng.normal(size=(form.n_logits + form.n_means, B)).astype(np.float32)
    x, s = arrays(xp, drawn, np.full((form.n_means, 1), 0.3, np.float32) if form.n_means else None)
    kl, d_outputs, d_log_std = ours.match(xp, x, s, x, s)
    for array in (kl, d_outputs, *([] if d_log_std is None else [d_log_std])):
        assert_allclose(array, np.zeros(array.shape), atol=1e-6)


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
def test_choices_that_only_the_target_never_takes_are_finite(xp: ModuleType) -> None:
    ours = build_distribution(build_layout(PolicyConfig(), BOX, gym.spaces.Discrete(3)))
    x, masks = arrays(xp, np.zeros((3, 1), np.float32), np.array([[True, True, False]]))
    kl, d_outputs, _ = ours.match(xp, x, None, masked(xp, x, masks), None)
    assert_allclose(kl, [np.log(3 / 2)], rtol=1e-5)
    assert_allclose(d_outputs, [[-1 / 6], [-1 / 6], [1 / 3]], rtol=1e-5)


@pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])
def test_a_std_outside_its_range_is_held_and_gets_no_gradient(xp: ModuleType) -> None:
    ours = Gaussian(BOX, state_dependent_std=True)
    log_std = np.array([[LOG_STD_RANGE[0] - 1], [0.5], [LOG_STD_RANGE[1] + 1]], np.float32)
    x, s, ts = arrays(xp, np.zeros((3, 1), np.float32), log_std, np.zeros((3, 1), np.float32))
    kl, _, d_log_std = ours.match(xp, x, s, x, ts)
    held = torch.from_numpy(np.clip(log_std, *LOG_STD_RANGE)).exp()
    expected = reference.kl_divergence(reference.Normal(0.0, torch.ones(3, 1)), reference.Normal(0.0, held))
    assert_allclose(kl, expected.sum(0), rtol=1e-4)
    assert d_log_std is not None
    assert (np.asarray(d_log_std)[:, 0] != 0).tolist() == [False, True, False]
