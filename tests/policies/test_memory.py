"""The memory, step by step and over whole sequences, against a plain loop written from the equations.

Broken on purpose, each of these made tests here fail: no reset between the runs of a sequence; zeros
in place of the states a sequence starts from; states of the neighbouring env; the critic's memory fed
to the actor; a cell state that is not carried; samples left in the order of the filled-up rectangle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.batch import Batch
from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.policies.torch.recurrent import RecurrentNetwork
from gymnast.rollout.sequences import Sequences

OBS = gym.spaces.Box(-1, 1, (3,), np.float32)
ACTIONS = gym.spaces.Discrete(4)
SIZE = 5


def make(kind: str, shared: bool = False, seed: int = 0, heads: int = 1, **more: Any) -> Policy:
    config = PolicyConfig(memory=kind, memory_size=SIZE, hidden=(6,), shared=shared, actor_gain=1.0, **more)
    value_heads = tuple(f"value_{head}" for head in range(heads))
    policy = build_policy(config, "auto", OBS, ACTIONS, seed, value_heads=value_heads)
    assert isinstance(policy.network, RecurrentNetwork)
    rng = np.random.default_rng(seed)  # biases that are not 0 show whether each one is used
    policy.load_arrays(
        {
            name: value + 0.1 * rng.standard_normal(value.shape).astype(np.float32)
            for name, value in policy.arrays().items()
        }
    )
    return policy


def cell(
    kind: str, w: dict[str, torch.Tensor], x: torch.Tensor, h: torch.Tensor, c: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step from the equations (Hochreiter & Schmidhuber, 1997; Cho et al., 2014); gates as in torch."""
    inner = x @ w["weight_ih"].T + w["bias_ih"]
    outer = h @ w["weight_hh"].T + w["bias_hh"]
    if kind == "lstm":
        i, f, g, o = (inner + outer).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    (ir, iz, i_n), (hr, hz, h_n) = inner.chunk(3, 1), outer.chunk(3, 1)
    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
    return (1 - z) * torch.tanh(i_n + r * h_n) + z * h, c


def naive(
    policy: Policy, x: torch.Tensor, begins: np.ndarray, states: torch.Tensor, length: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Outputs [T, A, N], values [T, V, N] and features [T, F, N], step by step.

    states [S, K, N, H] are those at each sequence's start.
    """
    network: Any = policy.network
    kind, memories = policy.layout.config.memory, policy.layout.memories
    parts = 2 if kind == "lstm" else 1
    outputs, values, features = [], [], []
    now: list[tuple[torch.Tensor, torch.Tensor]] = []
    for t in range(len(x)):
        if t % length == 0:
            start = states[t // length]
            now = [(start[m * parts], start[m * parts + parts - 1]) for m in range(len(memories))]
        forget = torch.from_numpy(begins[t])[:, None]
        top = []
        for m, name in enumerate(memories):
            h, c = (torch.where(forget, torch.zeros_like(v), v) for v in now[m])
            weights = {
                p: network.views[f"{name}.{p}"] for p in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            }
            now[m] = cell(kind, weights, x[t], h, c)
            top.append(now[m][0])
        trunks = ["trunk"] * 2 if policy.layout.config.shared else ["actor", "critic"]
        actor, critic = (
            torch.tanh(
                torch.nn.functional.linear(h, network.views[f"{n}.0.weight"], network.views[f"{n}.0.bias"])
            )
            for n, h in zip(trunks, (top[0], top[-1]), strict=True)
        )
        outputs.append((actor @ network.views["action_head.weight"].T + network.views["action_head.bias"]).T)
        values.append((critic @ network.views["value_head.weight"].T + network.views["value_head.bias"]).T)
        features.append(actor.T)
    return torch.stack(outputs), torch.stack(values), torch.stack(features)


def batch_like(x: np.ndarray, network: Any) -> Batch:
    rows = np.arange(len(x), dtype=np.float32)
    return Batch(*(network.to_engine(a) for a in (x, rows.copy(), rows, rows, rows, rows)))


shapes = st.tuples(st.sampled_from([(1, 1), (6, 1), (6, 2), (6, 3), (6, 6), (12, 4)]), st.integers(1, 4))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["lstm", "gru"]),
    shared=st.booleans(),
    heads=st.integers(1, 2),
    shape=shapes,
    data=st.data(),
)
def test_whole_sequences_equal_a_loop_in_outputs_and_gradients(
    kind: str, shared: bool, heads: int, shape: tuple[tuple[int, int], int], data: st.DataObject
) -> None:
    (n_steps, length), n = shape
    seed = data.draw(st.integers(0, 5))
    policy = make(kind, shared, seed, heads)
    network: Any = policy.network
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_steps, n, 3)).astype(np.float32)
    flags = data.draw(st.lists(st.booleans(), min_size=n_steps * n, max_size=n_steps * n))
    begins = np.array(flags).reshape(n_steps, n)
    slots = network.start(1, critic=True).values.shape[0]
    states = torch.from_numpy(rng.standard_normal((n_steps // length, slots, n, SIZE)).astype(np.float32))
    # Where an episode begins with a sequence, the collector has stored an empty state.
    for s in range(n_steps // length):
        states[s][:, begins[s * length]] = 0.0
    sequences = Sequences(length, begins, states)
    chosen = np.array(
        data.draw(
            st.lists(st.integers(0, sequences.count - 1), min_size=1, max_size=sequences.count, unique=True)
        )
    )
    batch = sequences.batch_of(network, batch_like(x.reshape(-1, 3), network), chosen)
    rows = batch.actions.numpy().astype(int)
    assert sorted(rows) == sorted(
        (s // n * length + step) * n + s % n for s in chosen for step in range(length)
    )
    weights = [rng.standard_normal((size, n_steps * n)).astype(np.float32) for size in (4, heads, 6)]
    d_outputs, d_values, d_features = (torch.from_numpy(weight[:, rows]) for weight in weights)

    outputs, _, values = network.forward(batch.x)
    found = outputs, values.reshape(heads, -1), network.features().T
    network.backward(d_outputs, None, d_values[0] if heads == 1 else d_values, d_features.T)
    gradients = {name: view.grad.clone() for name, view in network.views.items()}

    network.gradients.zero_()
    total = torch.zeros(())
    expected = naive(policy, torch.from_numpy(x), begins, states, length)
    for ours, theirs, d in zip(found, expected, (d_outputs, d_values, d_features), strict=True):
        flat = theirs.permute(1, 0, 2).flatten(1)[:, rows]
        assert_allclose(ours.numpy(), flat.detach().numpy(), rtol=1e-4, atol=1e-5)
        total = total + (flat * d).sum()
    total.backward()
    for name, view in network.views.items():
        assert_allclose(gradients[name].numpy(), view.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("shared", [True, False])
def test_acting_step_by_step_equals_the_loop(kind: str, shared: bool) -> None:
    policy, rng = make(kind, shared), np.random.default_rng(3)
    x = rng.standard_normal((7, 3, 3)).astype(np.float32)
    begins = rng.random((7, 3)) < 0.3
    network: Any = policy.network
    both, actor = network.start(3, critic=True), policy.start(3)
    start = both.values.clone()[None]
    outputs, values, _ = naive(policy, torch.from_numpy(x), begins, start, 7)
    for t in range(7):
        for state in (both, actor):
            state.reset(begins[t])
        before = both.array()
        assert_allclose(policy.values(x[t], both), values[t, 0].detach().numpy(), rtol=1e-4, atol=1e-5)
        assert (both.array() == before).all()  # looking does not move it
        for state in (both, actor):
            assert_allclose(
                network.act_from(x[t], state)[0], outputs[t].detach().numpy(), rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_states_forget_row_by_row_and_are_copied(kind: str) -> None:
    policy = make(kind)
    state: Any = policy.start(4)
    obs = np.ones((4, 3), np.float32)
    policy.predict(obs, state=state)
    assert (np.abs(state.array()).sum((0, 2)) > 0).all()
    kept, some = state.copy(), state.rows(np.array([2, 0]))
    assert (some.array() == state.array()[:, [2, 0]]).all()
    state.reset(np.array([True, False, False, True]))
    assert (np.abs(state.array()).sum((0, 2)) > 0).tolist() == [False, True, True, False]
    state.reset([1])  # by index too
    assert (np.abs(state.array()).sum((0, 2)) > 0).tolist() == [False, False, True, False]
    assert (np.abs(kept.array()).sum((0, 2)) > 0).all()
    state.load_array(kept.array())
    assert (state.array() == kept.array()).all()


def test_memory_holds_earlier_observations_up_to_a_reset() -> None:
    policy = make("lstm")
    first, second, now = np.random.default_rng(0).standard_normal((3, 1, 3)).astype(np.float32)
    network: Any = policy.network

    def after(*seen: np.ndarray, reset: bool = False) -> np.ndarray:
        state: Any = policy.start(1)
        for obs in seen:
            network.act_from(obs, state)
        if reset:
            state.reset(np.array([True]))
        return network.act_from(now, state)[0]

    assert np.abs(after(first) - after(second)).max() > 1e-3
    assert (after(first, reset=True) == after(second, reset=True)).all()
    assert (after(first, reset=True) == after()).all()


@pytest.mark.parametrize(
    "call", [lambda p, o: p.predict(o), lambda p, o: p.values(o), lambda p, o: p.network.infer(o)]
)
def test_calls_without_a_state_are_refused_with_instructions(
    call: Callable[[Policy, np.ndarray], Any],
) -> None:
    with pytest.raises(GymnastError, match=r"make state = policy\.start\(n\)"):
        call(make("gru"), np.zeros((2, 3), np.float32))


def test_states_that_do_not_fit_are_refused() -> None:
    policy = make("lstm")
    with pytest.raises(GymnastError, match="3 observations, but the state is of 2 episodes"):
        policy.predict(np.zeros((3, 3), np.float32), state=policy.start(2))
    with pytest.raises(GymnastError, match=r"policy\.start\(n, critic=True\)"):
        policy.values(np.zeros((2, 3), np.float32), policy.start(2))


@pytest.mark.parametrize("engine", ["numpy", "torch", "auto"])
def test_a_policy_without_memory_takes_the_same_calls(engine: str) -> None:
    policy = build_policy(PolicyConfig(), engine, OBS, ACTIONS, 0)
    obs = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    state = policy.start(2)
    assert (policy.predict(obs, state=state) == policy.predict(obs)).all()
    state.reset(np.array([True, False]))


def test_the_numpy_engine_refuses_a_memory() -> None:
    with pytest.raises(GymnastError, match=r"policy\.memory: lstm needs engine: torch"):
        build_policy(PolicyConfig(memory="lstm"), "numpy", OBS, ACTIONS, 0)


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3)])
def test_weights_start_orthogonal_gate_by_gate_and_remembering(kind: str, gates: int) -> None:
    config = PolicyConfig(memory=kind, memory_size=SIZE)
    policy = build_policy(config, "torch", OBS, ACTIONS, 0)
    arrays = policy.arrays()
    for name in ("actor_memory", "critic_memory"):
        assert arrays[f"{name}.weight_ih"].shape == (gates * SIZE, 3)
        for block in np.split(arrays[f"{name}.weight_hh"], gates):
            assert_allclose(block @ block.T, np.eye(SIZE), atol=1e-5)
        bias = np.zeros(gates * SIZE)
        bias[SIZE : 2 * SIZE] = 1.0  # forget or update gate: a new memory keeps what it has
        assert (arrays[f"{name}.bias_ih"] == bias).all()
    shared = build_policy(PolicyConfig(memory=kind, shared=True), "torch", OBS, ACTIONS, 0)
    assert [n for n in shared.arrays() if "memory" in n] == [
        f"memory.{part}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
