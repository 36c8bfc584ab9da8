"""Every algorithm states its loss and then its derivatives: the second must be autograd's of the first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.table import ALGORITHMS
from gymnast.policies.distributions import Evaluated

# Settings that only some algorithms have are tried on those.
OWN: dict[str, tuple[dict[str, Any], ...]] = {
    "clip_range": ({}, {"clip_range": 0.05}, {"clip_range": 10.0}),
    "value_clip_range": ({}, {"value_clip_range": 0.3}),
    "baseline": ({}, {"baseline": "mean"}),
}
N = 16


Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor, Batch]


def random_case(seed: int, heads: int, weighted: bool) -> Case:
    """Log-probabilities, entropies, values and a batch in float64, so that only real differences show."""
    rng = np.random.default_rng(seed)
    shape = (N,) if heads == 1 else (heads, N)
    log_prob, entropy = torch.tensor(rng.normal(-1, 0.5, N)), torch.tensor(rng.uniform(0, 2, N))
    values, old_values, returns = (torch.tensor(rng.normal(0, 1.5, shape)) for _ in range(3))
    weights = torch.tensor((rng.random(N) < 0.6).astype(np.float64)) if weighted else None
    if weights is not None:
        weights[0] = 1.0
    nothing = torch.zeros(N)
    old_log_prob = log_prob + torch.tensor(rng.normal(0, 0.3, N))
    advantages = torch.tensor(rng.normal(size=N))
    batch = Batch(
        x=nothing,
        actions=nothing,
        log_probs=old_log_prob,
        values=old_values,
        advantages=advantages,
        returns=returns,
        weights=weights,
    )
    return log_prob, entropy, values, batch


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 100_000))
def test_derivatives_are_those_of_the_stated_loss(name: str, data: Any, seed: int) -> None:
    kind = ALGORITHMS[name]
    config: dict[str, Any] = {
        "value_loss": data.draw(st.sampled_from(["squared", "huber"])),
        "huber_delta": data.draw(st.sampled_from([0.3, 1.0])),
        "entropy_coef": data.draw(st.sampled_from([0.0, 0.05])),
        "value_coef": data.draw(st.sampled_from([0.5, 2.0])),
    }
    for setting, choices in OWN.items():
        if setting in kind.Settings.model_fields:
            config |= data.draw(st.sampled_from(choices))
    weighted = name == "reinforce" and data.draw(st.booleans())  # the others learn from every sample
    algo = kind(kind.Settings(**config))
    *leaves, batch = random_case(seed, data.draw(st.sampled_from([1, 2])), weighted)
    log_prob, entropy, values = (leaf.requires_grad_() for leaf in leaves)

    loss = algo.loss(torch, Evaluated(log_prob, entropy, ()), values, batch, algo.hyperparameters(0, 1))
    loss.stats["train/loss/total"].backward()
    stated = (loss.d_log_prob, loss.d_entropy, loss.d_values)
    for leaf, derivative in zip((log_prob, entropy, values), stated, strict=True):
        expected = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        found = torch.as_tensor(derivative, dtype=torch.float64).detach().expand(leaf.shape)
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert algo.uses_critic == bool(loss.d_values.any())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_total_is_the_sum_of_its_parts_on_both_engines(name: str) -> None:
    algo = ALGORITHMS[name](ALGORITHMS[name].Settings(entropy_coef=0.03, value_coef=0.7))  # type: ignore[call-arg]
    log_prob, entropy, values, batch = random_case(3, 2, False)
    hp = algo.hyperparameters(0, 1)
    of_torch = algo.loss(torch, Evaluated(log_prob, entropy, ()), values, batch, hp)
    arrays = batch.map(lambda array: array.numpy())
    of_numpy = algo.loss(np, Evaluated(log_prob.numpy(), entropy.numpy(), ()), values.numpy(), arrays, hp)
    for key, value in of_torch.stats.items():
        assert float(of_numpy.stats[key]) == pytest.approx(float(value), rel=1e-6), key
    stats = of_numpy.stats
    parts = stats["train/loss/policy"] + 0.7 * stats["train/loss/value"] + 0.03 * stats["train/loss/entropy"]
    assert float(stats["train/loss/total"]) == pytest.approx(float(parts))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_losses_of_several_value_heads_are_added(name: str) -> None:
    algo = ALGORITHMS[name](ALGORITHMS[name].Settings())  # type: ignore[call-arg]
    log_prob, entropy, values, batch = random_case(5, 3, False)
    hp, new = algo.hyperparameters(0, 1), Evaluated(log_prob, entropy, ())
    together = algo.loss(torch, new, values, batch, hp)
    alone = [
        algo.loss(
            torch,
            new,
            values[head],
            replace(batch, values=batch.values[head], returns=batch.returns[head]),
            hp,
        )
        for head in range(len(values))
    ]
    total = sum(float(loss.stats["train/loss/value"]) for loss in alone)
    assert float(together.stats["train/loss/value"]) == pytest.approx(total)
    assert_allclose(together.d_values, torch.stack([loss.d_values for loss in alone]))
