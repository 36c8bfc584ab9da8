"""Every optimiser on a flat vector: both engines, both Adam kernels, and torch's own."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.errors import GymnastError
from gymnast.optimizers.build import SGD, ResetOnJump, RMSProp, build_optimizer
from gymnast.optimizers.flat import FlatOptimizer
from gymnast.optimizers.numpy_adam import NumpyAdam
from gymnast.optimizers.settings import AdamConfig, AdamWConfig, RMSPropConfig, SGDConfig
from gymnast.optimizers.torch_adam import TorchAdam
from gymnast.policies.build import build_policy
from gymnast.policies.layout import build_layout
from gymnast.policies.settings import PolicyConfig

CASES: dict[str, tuple[Any, Any]] = {  # ours, and how torch builds the same
    "adam": (AdamConfig(), lambda p, lr: torch.optim.Adam(p, lr, eps=1e-5)),
    "adam-other": (
        AdamConfig(eps=1e-3, betas=(0.5, 0.9)),
        lambda p, lr: torch.optim.Adam(p, lr, betas=(0.5, 0.9), eps=1e-3),
    ),
    "adamw": (
        AdamWConfig(weight_decay=0.1),
        lambda p, lr: torch.optim.AdamW(p, lr, eps=1e-5, weight_decay=0.1),
    ),
    "rmsprop": (
        RMSPropConfig(eps_inside=False, eps=1e-3, alpha=0.9),
        lambda p, lr: torch.optim.RMSprop(p, lr, alpha=0.9, eps=1e-3),
    ),
    "rmsprop-momentum": (
        RMSPropConfig(eps_inside=False, eps=1e-3, momentum=0.5),
        lambda p, lr: torch.optim.RMSprop(p, lr, alpha=0.99, eps=1e-3, momentum=0.5),
    ),
    "sgd": (SGDConfig(), torch.optim.SGD),
    "sgd-momentum": (
        SGDConfig(momentum=0.9, weight_decay=0.1),
        lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, weight_decay=0.1),
    ),
    "nesterov": (
        SGDConfig(momentum=0.9, nesterov=True),
        lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, nesterov=True),
    ),
}


class Flat:
    """As much of a network as an optimiser sees: two vectors of n numbers, the last third the critic's."""

    def __init__(self, values: np.ndarray, engine: str) -> None:
        own = values.copy(), np.zeros_like(values)
        self.xp = np if engine == "numpy" else torch
        self.parameters, self.gradients = own if engine == "numpy" else map(torch.from_numpy, own)
        n = len(values)
        self.critic_spans = [slice(n - n // 3, n)] if n // 3 else []

    def push(self, gradient: np.ndarray) -> None:
        self.gradients[:] = gradient if self.xp is np else torch.from_numpy(gradient)  # type: ignore[index]


def build(config: Any, values: np.ndarray, engine: str) -> tuple[Flat, Any]:
    flat = Flat(values, "numpy" if engine == "numpy" else "torch")
    optimizer: Any = build_optimizer(flat, config)
    if engine == "torch-plain" and isinstance(optimizer, TorchAdam):
        assert optimizer.fused  # the CPU has the kernel: the comparison is of two ways
        optimizer.fused = False
    return flat, optimizer


def start(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n).astype(np.float32), rng.normal(size=(6, n)).astype(np.float32)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=10)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 200),
    lr=st.sampled_from([1e-4, 1e-2]),
    max_norm=st.sampled_from([0.0, 0.5, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_all_take_the_steps_of_torch_optim(
    case: str, seed: int, n: int, lr: float, max_norm: float, scale: float
) -> None:
    config, theirs_of = CASES[case]
    values, gradients = start(n, seed)
    gradients *= np.float32(scale)
    known = torch.nn.Parameter(torch.from_numpy(values.copy()))
    theirs = theirs_of([known], lr)
    ours = [build(config, values, engine) for engine in ("numpy", "torch", "torch-plain")]
    for gradient in gradients:
        known.grad = torch.from_numpy(gradient.copy())
        norm = float(np.linalg.norm(gradient.astype(np.float64)))
        if max_norm:
            torch.nn.utils.clip_grad_norm_([known], max_norm)
        theirs.step()
        for flat, optimizer in ours:
            flat.push(gradient)
            assert float(optimizer.step(lr, max_norm)) == pytest.approx(norm, rel=1e-4)  # before clipping
    expected = known.detach().numpy()
    tolerance = 1e-4 * max(1.0, float(abs(expected).max())) if case.startswith(("sgd", "nest")) else lr * 2e-3
    for flat, _ in ours:
        assert_allclose(np.asarray(flat.parameters), expected, rtol=1e-4, atol=tolerance)


def test_rmsprop_as_in_the_paper_adds_epsilon_under_the_root() -> None:
    values, gradients = start(5, 0)
    for engine in ("numpy", "torch"):
        flat, optimizer = build(RMSPropConfig(alpha=0.9, eps=0.1), values, engine)
        flat.push(gradients[0])
        optimizer.step(0.5, 0.0)
        expected = values - 0.5 * gradients[0] / np.sqrt(0.1 * gradients[0] ** 2 + 0.1)
        assert_allclose(np.asarray(flat.parameters), expected, rtol=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_the_critic_may_have_a_rate_of_its_own(case: str, engine: str) -> None:
    """As if there were two optimisers, but for the norm, which is one."""
    config, _ = CASES[case]
    values, gradients = start(30, 1)
    both, optimizer = build(config, values, engine)
    alone = [build(config, values, engine) for _ in range(2)]
    for gradient in gradients:
        both.push(gradient)
        optimizer.step(1e-2, 0.0, 3e-3)
        for (flat, one), lr in zip(alone, (1e-2, 3e-3), strict=True):
            flat.push(gradient)
            one.step(lr, 0.0)
    actor, critic = (np.asarray(flat.parameters) for flat, _ in alone)
    assert_allclose(np.asarray(both.parameters)[:20], actor[:20], rtol=1e-6)
    assert_allclose(np.asarray(both.parameters)[20:], critic[20:], rtol=1e-6)
    assert not np.allclose(actor[20:], critic[20:], rtol=1e-5)


def test_only_the_critics_own_weights_are_its_own() -> None:
    space = gym.spaces.Box(-1, 1, (3,))
    head = {"value_head.weight", "value_head.bias"}
    for shared, wanted in ((False, head | {"critic.0.weight", "critic.0.bias"}), (True, head)):
        policy = build_policy(PolicyConfig(hidden=(8,), shared=shared), "numpy", space, space, 0)
        network: Any = policy.network
        network.gradients[:] = 1.0
        before = policy.arrays()
        build_optimizer(network, SGDConfig()).step(0.0, 0.0, 1e-2)
        after = policy.arrays()
        assert {name for name in after if (after[name] != before[name]).any()} == wanted


def test_neighbours_are_one_span() -> None:
    space, config = gym.spaces.Box(-1, 1, (3,)), PolicyConfig(hidden=(2,), critic_hidden=(4,))
    layout = build_layout(config, space, gym.spaces.Discrete(2))
    spans = layout.spans()
    assert list(spans) == [
        *("actor.0.weight", "actor.0.bias", "critic.0.weight", "critic.0.bias"),
        *("action_head.weight", "action_head.bias", "value_head.weight", "value_head.bias"),
    ]
    assert layout.critic_spans() == [slice(8, 24), slice(30, 35)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("other", ["numpy", "torch"])
def test_a_stored_state_continues_in_either_engine(case: str, engine: str, other: str) -> None:
    config, _ = CASES[case]
    values, gradients = start(20, 3)
    flat, optimizer = build(config, values, engine)
    flat.push(gradients[0])
    optimizer.step(0.01, 0.5)
    state = optimizer.state()
    assert isinstance(state["steps"], int)
    again, carried = build(config, np.asarray(flat.parameters), other)
    flat.push(gradients[1])
    optimizer.step(0.01, 0.5)  # a state that moved with the optimiser would now be another one
    carried.load_state(state)
    again.push(gradients[1])
    carried.step(0.01, 0.5)
    if engine == other:
        assert np.asarray(again.parameters).tobytes() == np.asarray(flat.parameters).tobytes()
    assert_allclose(np.asarray(again.parameters), np.asarray(flat.parameters), rtol=1e-5, atol=1e-6)
    assert carried.steps == optimizer.steps == 2


@pytest.mark.parametrize("kind", [NumpyAdam, TorchAdam])
@pytest.mark.parametrize("size", [1, 5])
def test_moments_of_another_policy_are_refused(kind: type[Any], size: int) -> None:
    zeros = np.zeros(4, np.float32)
    adam: FlatOptimizer
    adam = kind(
        *((zeros, zeros) if kind is NumpyAdam else map(torch.from_numpy, (zeros, zeros))), (0.9, 0.999), 1e-5
    )
    state = {"steps": 3, "first": np.zeros(size, np.float32), "second": np.zeros(size, np.float32)}
    with pytest.raises(GymnastError, match=f"of {size} parameters, this policy has 4"):
        adam.load_state(state)
    assert adam.steps == 0


def test_the_state_of_another_optimiser_is_refused() -> None:
    values, _ = start(4, 0)
    _, adam = build(AdamConfig(), values, "numpy")
    _, rms = build(RMSPropConfig(), values, "numpy")
    assert isinstance(rms, RMSProp)
    with pytest.raises(
        GymnastError, match=r"holds first, second, RMSProp needs momentum, second.*fresh-optimizer"
    ):
        rms.load_state(adam.state())


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_a_jump_of_the_learning_rate_resets_the_moments(engine: str) -> None:
    values, gradients = start(6, 2)
    flat, optimizer = build(AdamConfig(reset_on_lr_jump=2.0), values, engine)
    assert isinstance(optimizer, ResetOnJump)
    for lr, resets in (
        (0.01, 0),
        (0.008, 0),
        (0.015, 0),
        (0.03, 1),
        (0.01, 2),
        (0.0, 3),
        (0.0, 3),
        (0.01, 4),
    ):
        flat.push(gradients[0])
        optimizer.step(lr, 0.0)
        assert optimizer.metrics() == {"opt/resets": resets}
    assert optimizer.optimizer.steps == 1  # counted again from the last jump
    state = optimizer.state()
    _, again = build(AdamConfig(reset_on_lr_jump=2.0), values, engine)
    again.load_state(state)
    again.step(0.05, 0.0)  # the jump is seen over a resume
    assert again.metrics() == {"opt/resets": 5}


def test_a_step_of_a_small_network_allocates_nothing_that_stays() -> None:
    values, gradients = start(10, 0)
    flat, optimizer = build(SGDConfig(), values, "numpy")
    assert isinstance(optimizer, SGD)
    flat.push(gradients[0])
    before = optimizer.parameters
    optimizer.step(0.1, 0.0)
    assert optimizer.parameters is before is flat.parameters  # moved in place: views of it stay right
