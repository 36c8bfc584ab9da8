"""The value losses: against torch's, and the laws they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPOConfig
from gymnast.algorithms.table import ALGORITHMS
from gymnast.algorithms.value_loss import value_losses

XP = pytest.mark.parametrize("xp", [np, torch], ids=["numpy", "torch"])


def case(n: int, seed: int, xp: Any) -> tuple[Any, Batch]:
    rng = np.random.default_rng(seed)
    values, old, returns = (rng.normal(0, 2, n).astype(np.float32) for _ in range(3))
    zeros = np.zeros(n, np.float32)
    batch = Batch(zeros, zeros, zeros, old, zeros, returns)
    if xp is torch:
        return torch.from_numpy(values), batch.map(torch.from_numpy)
    return values, batch


@XP
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["squared", "huber"]),
    delta=st.sampled_from([0.1, 1.0, 3.0]),
    clip=st.sampled_from([None, 0.3, 2.0]),
)
def test_loss_and_slope_are_those_of_torch(
    xp: Any, seed: int, kind: Any, delta: float, clip: float | None
) -> None:
    values, batch = case(20, seed, xp)
    loss, slope = value_losses(xp, values, batch, PPOConfig(value_loss=kind, huber_delta=delta), 0.25, clip)

    v = torch.as_tensor(values).double().requires_grad_()
    old, returns = (torch.as_tensor(x).double() for x in (batch.values, batch.returns))

    def one(value: torch.Tensor) -> torch.Tensor:
        if kind == "squared":
            return (value - returns) ** 2
        return 2 * torch.nn.functional.huber_loss(value, returns, reduction="none", delta=delta)

    expected = one(v)
    if clip is not None:
        expected = torch.maximum(expected, one(old + (v - old).clamp(-clip, clip)))
    expected.sum().backward()
    assert_allclose(np.asarray(loss), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert_allclose(np.asarray(slope), 0.25 * v.grad.numpy(), rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


@XP
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_huber_with_a_large_delta_is_the_squared_loss_to_the_bit(xp: Any, seed: int) -> None:
    values, batch = case(30, seed, xp)
    squared = value_losses(xp, values, batch, PPOConfig(), 1.0)
    huber = value_losses(xp, values, batch, PPOConfig(value_loss="huber", huber_delta=1e6), 1.0)
    for one, other in zip(squared, huber, strict=True):
        assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6)


@XP
def test_an_outlier_pulls_with_twice_delta_at_most(xp: Any) -> None:
    values, batch = case(30, 0, xp)
    batch.returns[0] += 1e6
    _, slope = value_losses(xp, values, batch, PPOConfig(value_loss="huber", huber_delta=0.5), 1.0)
    assert float(abs(slope).max()) == pytest.approx(1.0)
    assert float(slope[0]) == pytest.approx(-1.0)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_offers_the_huber_loss(name: str) -> None:
    settings_of = ALGORITHMS[name].Settings
    assert settings_of(value_loss="huber", huber_delta=2.0).huber_delta == 2.0  # type: ignore[call-arg]
