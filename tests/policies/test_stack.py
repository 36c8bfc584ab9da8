"""Stand-alone stacks: the same on both engines, with the gradients of autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional

from gymnast.errors import GymnastError
from gymnast.optimizers.build import build_optimizer
from gymnast.optimizers.settings import AdamConfig, RMSPropConfig, SGDConfig
from gymnast.policies.stack import Stack, build_stack

ENGINES = ("numpy", "torch")
TORCH: dict[str, Any] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "silu": functional.silu,
    "gelu": lambda z: functional.gelu(z, approximate="tanh"),
}


def moved(stack: Stack, seed: int) -> dict[str, np.ndarray]:
    """The stack's arrays, biases too, away from 0."""
    rng = np.random.default_rng(seed)
    return {k: v + rng.normal(0, 0.3, v.shape).astype(np.float32) for k, v in stack.arrays().items()}


def member_by_member(p: dict[str, torch.Tensor], x: torch.Tensor, activation: str) -> torch.Tensor:
    """The outputs, each member an MLP of its own, in plain torch."""
    last = max(int(name.partition(".")[0]) for name in p)
    outputs = []
    for member in range(len(p["0.weight"])):
        h = x if x.dim() == 2 else x[member]
        for layer in range(last + 1):
            h = h @ p[f"{layer}.weight"][member].T + p[f"{layer}.bias"][member]
            if f"{layer}.norm.weight" in p:
                gain, shift = p[f"{layer}.norm.weight"][member], p[f"{layer}.norm.bias"][member]
                h = functional.layer_norm(h, h.shape[1:], gain, shift)
            h = h if layer == last else TORCH[activation](h)
        outputs.append(h)
    return torch.stack(outputs)


@settings(max_examples=60)
@given(
    widths=st.sampled_from([(4, 7, 5, 3), (4, 6, 2), (4, 3), (1, 5, 1)]),
    members=st.sampled_from([1, 3]),
    activation=st.sampled_from(sorted(TORCH)),
    layer_norm=st.booleans(),
    own_inputs=st.booleans(),
    n=st.sampled_from([1, 8]),
    seed=st.integers(0, 10_000),
)
def test_outputs_and_gradients_are_those_of_autograd(
    widths: tuple[int, ...],
    members: int,
    activation: str,
    layer_norm: bool,
    own_inputs: bool,
    n: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(members, n, widths[0]) if own_inputs else (n, widths[0])).astype(np.float32)
    d_outputs = rng.normal(size=(members, n, widths[-1])).astype(np.float32)
    first, *others = [
        build_stack(
            widths,
            members=members,
            activation=activation,
            engine=engine,
            seed=seed,
            layer_norm=layer_norm,
        )
        for engine in ENGINES
    ]
    arrays = moved(first, seed)
    p = {name: torch.tensor(value, requires_grad=True) for name, value in arrays.items()}
    inputs = torch.tensor(x, requires_grad=True)
    expected = member_by_member(p, inputs, activation)
    (expected * torch.from_numpy(d_outputs)).sum().backward()  # type: ignore[no-untyped-call]
    flat = np.concatenate([p[name].grad.numpy().ravel() for name in first.arrays()])  # type: ignore[union-attr]
    for stack in (first, *others):
        stack.load_arrays(arrays)
        assert_allclose(np.asarray(stack.infer(stack.to_engine(x))), expected.detach(), rtol=1e-4, atol=1e-5)
        for want_input in (False, True):
            outputs = stack.forward(stack.to_engine(x))
            assert_allclose(np.asarray(outputs), expected.detach(), rtol=1e-4, atol=1e-5)
            d_input = stack.backward(stack.to_engine(d_outputs.copy()), want_input)
            assert_allclose(np.asarray(stack.gradients), flat, rtol=1e-3, atol=1e-4)
            assert (d_input is None) == (not want_input)
        assert_allclose(np.asarray(d_input), inputs.grad, rtol=1e-3, atol=1e-4)


def test_flags_that_blas_sets_are_not_warnings() -> None:
    """BLAS also sets them for finite numbers. pyproject.toml makes warnings errors."""
    stack = build_stack((4, 7, 3), engine="numpy", seed=0)
    x = np.array([[np.inf, -np.inf, 1, 1]], np.float32)
    assert np.isnan(stack.forward(x)).all()
    stack.backward(np.ones((1, 1, 3), np.float32))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("config", [AdamConfig(), RMSPropConfig(), SGDConfig(momentum=0.9)])
def test_a_flat_optimizer_reduces_a_regression_loss(engine: str, config: Any) -> None:
    """Random network distillation in small: a predictor learns the outputs of a fixed target."""
    predictor, target = (build_stack((3, 16, 16, 4), engine=engine, seed=seed) for seed in (0, 1))
    optimizer = build_optimizer(predictor, config)
    x = predictor.to_engine(np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32))
    wanted = target.infer(x)
    before = target.arrays()
    losses = []
    for _ in range(300):
        error = predictor.forward(x) - wanted
        losses.append(float((error * error).sum()) / 64)
        predictor.backward(error * (2.0 / 64))
        optimizer.step(3e-3, 0.0)
    assert losses[-1] < 0.1 * losses[0]
    for name, value in target.arrays().items():
        assert_array_equal(value, before[name])


def test_members_start_apart_and_a_seed_repeats() -> None:
    one, same, other = (build_stack((3, 8, 2), members=2, engine="numpy", seed=s).arrays() for s in (1, 1, 2))
    for name in ("0.weight", "1.weight"):
        assert_array_equal(one[name], same[name])
        assert not np.allclose(one[name], other[name])
        assert not np.allclose(one[name][0], one[name][1])
    torches = build_stack((3, 8, 2), members=2, engine="torch", seed=1).arrays()
    assert_array_equal(one["0.weight"], torches["0.weight"])


@pytest.mark.parametrize("engine", ENGINES)
def test_outputs_stay_when_the_stack_runs_again(engine: str) -> None:
    stack = build_stack((2, 4, 3), engine=engine, seed=0)
    rows = np.random.default_rng(0).normal(size=(2, 5, 2)).astype(np.float32)
    first = stack.forward(stack.to_engine(rows[0]))
    kept = np.asarray(first).copy()
    stack.forward(stack.to_engine(rows[1]))
    assert_array_equal(np.asarray(first), kept)


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_of_another_stack_are_refused(engine: str) -> None:
    stack = build_stack((2, 4, 3), engine=engine, seed=0)
    before = stack.arrays()
    with pytest.raises(GymnastError, match=r"'0\.weight' is \(1, 5, 2\), \(1, 4, 2\) in this one"):
        stack.load_arrays(build_stack((2, 5, 3), engine=engine, seed=0).arrays())
    with pytest.raises(GymnastError, match=r"'0\.norm\.weight' is \(1, 4\), unknown in this one"):
        stack.load_arrays(build_stack((2, 4, 3), engine=engine, seed=0, layer_norm=True).arrays())
    for name, value in stack.arrays().items():
        assert_array_equal(value, before[name])


@pytest.mark.parametrize("engine", ENGINES)
def test_backward_is_only_for_the_last_forward_pass(engine: str) -> None:
    stack = build_stack((2, 4, 3), engine=engine, seed=0)
    x = stack.to_engine(np.ones((5, 2), np.float32))
    derivative = stack.forward(x)
    stack.infer(x)
    with pytest.raises(AssertionError, match="forward pass"):
        stack.backward(derivative)
