"""Adam on a flat vector: both engines, both kernels, and torch's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.errors import GymnastError
from gymnast.policies.numpy_adam import NumpyAdam
from gymnast.policies.torch_adam import TorchAdam

BETAS, EPS = (0.9, 0.999), 1e-5


def plain(adam: TorchAdam) -> TorchAdam:
    adam.fused = False
    return adam


def start(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n).astype(np.float32), rng.normal(size=(6, n)).astype(np.float32)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 200),
    lr=st.sampled_from([1e-4, 1e-2]),
    max_norm=st.sampled_from([0.0, 0.5, 1e6]),
    scale=st.sampled_from([1e-6, 1.0, 1e3]),
)
def test_every_adam_takes_the_steps_of_torch_optim(
    seed: int, n: int, lr: float, max_norm: float, scale: float
) -> None:
    values, gradients = start(n, seed)
    gradients *= np.float32(scale)
    known = torch.nn.Parameter(torch.from_numpy(values.copy()))
    theirs = torch.optim.Adam([known], lr=lr, betas=BETAS, eps=EPS)
    numbers, slopes = values.copy(), np.zeros_like(values)
    tensors = [(torch.from_numpy(values.copy()), torch.zeros(n)) for _ in range(2)]
    ours: list[Any] = [
        NumpyAdam(numbers, slopes, BETAS, EPS),
        TorchAdam(*tensors[0], BETAS, EPS),
        plain(TorchAdam(*tensors[1], BETAS, EPS)),
    ]
    assert ours[1].fused  # the CPU has the kernel: the comparison below is of two ways
    for gradient in gradients:
        known.grad = torch.from_numpy(gradient.copy())
        norm = float(np.linalg.norm(gradient.astype(np.float64)))
        if max_norm:
            torch.nn.utils.clip_grad_norm_([known], max_norm)
        theirs.step()
        slopes[:] = gradient
        for _, slope in tensors:
            slope.copy_(torch.from_numpy(gradient))
        for adam in ours:
            assert float(adam.step(lr, max_norm)) == pytest.approx(norm, rel=1e-4)  # before clipping
    expected = known.detach().numpy()
    for moved in (numbers, tensors[0][0].numpy(), tensors[1][0].numpy()):
        assert_allclose(moved, expected, rtol=1e-5, atol=lr * 2e-3)


def build(kind: type[Any], values: np.ndarray, gradients: np.ndarray) -> Any:
    own = values.copy(), gradients.copy()
    return kind(*(own if kind is NumpyAdam else map(torch.from_numpy, own)), BETAS, EPS)


@pytest.mark.parametrize("kind", [NumpyAdam, TorchAdam])
def test_a_stored_state_goes_on_bit_for_bit(kind: type[Any]) -> None:
    values, gradients = start(20, 3)
    adam = build(kind, values, gradients[0])
    adam.step(0.01, 0.5)
    state = adam.state()
    assert isinstance(state["steps"], int)
    assert isinstance(state["first"], np.ndarray)
    again = build(kind, np.asarray(adam.parameters), gradients[1])

    adam.gradients[:] = build(kind, values, gradients[1]).gradients
    adam.step(0.01, 0.5)  # a state that moved with the optimiser would now be another one
    again.load_state(state)
    again.step(0.01, 0.5)
    assert np.asarray(again.parameters).tobytes() == np.asarray(adam.parameters).tobytes()
    assert again.steps == adam.steps == 2


@pytest.mark.parametrize("kind", [NumpyAdam, TorchAdam])
@pytest.mark.parametrize("size", [1, 5])
def test_moments_of_another_policy_are_refused(kind: type[Any], size: int) -> None:
    zeros = np.zeros(4, np.float32)
    adam = build(kind, zeros, zeros)
    state = {"steps": 3, "first": np.zeros(size, np.float32), "second": np.zeros(size, np.float32)}
    with pytest.raises(GymnastError, match=f"of {size} parameters, this policy has 4"):
        adam.load_state(state)
    assert adam.steps == 0
