"""Several value heads, and features with derivatives of their own: the same on both engines."""

from __future__ import annotations

from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.optimizers.build import build_optimizer
from gymnast.policies.build import build_policy
from gymnast.policies.layout import build_layout, init_parameters
from gymnast.policies.load import load_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.training.update import update

OBS = gym.spaces.Box(-1.0, 1.0, (4,))
BOX = gym.spaces.Box(-2.0, 3.0, (3,))
ENGINES = ("numpy", "torch")
TRUNKS: tuple[dict[str, Any], ...] = (
    {"hidden": (7, 5)},
    {"hidden": (7, 5), "shared": True},
    {"hidden": (7, 5), "critic_hidden": (6,)},
    {"hidden": ()},
)
HEADS: tuple[tuple[gym.Space[Any], dict[str, Any]], ...] = (
    (gym.spaces.Discrete(4), {}),
    (BOX, {}),
    (BOX, {"state_dependent_std": True}),
)
TWO, THREE = ("value", "novelty"), ("value", "a", "b")


def make(
    engine: str, heads: tuple[str, ...], actions: gym.Space[Any] | None = None, seed: int = 0, **config: Any
) -> Policy:
    actions = actions or gym.spaces.Discrete(3)
    return build_policy(PolicyConfig(**config), engine, OBS, actions, seed, value_heads=heads)


def moved(policy: Policy, seed: int) -> dict[str, np.ndarray]:
    """The policy's arrays, biases too, away from 0."""
    rng = np.random.default_rng(seed)
    arrays = policy.arrays()
    return {k: v + rng.normal(0, 0.3, v.shape).astype(np.float32) for k, v in arrays.items()}


def reference_gradients(
    policy: Policy, arrays: dict[str, np.ndarray], x: np.ndarray, derivatives: dict[str, np.ndarray | None]
) -> np.ndarray:
    """The flat gradient by plain autograd over a network that is written out here once more."""
    p = {name: torch.tensor(value, requires_grad=True) for name, value in arrays.items()}

    def mlp(name: str) -> torch.Tensor:
        h, layer = torch.from_numpy(x), 0
        while f"{name}.{layer}.weight" in p:
            h = torch.tanh(h @ p[f"{name}.{layer}.weight"].T + p[f"{name}.{layer}.bias"])
            layer += 1
        return h

    shared = policy.layout.config.shared
    actor, critic = mlp("trunk" if shared else "actor"), mlp("trunk" if shared else "critic")
    results = {
        "outputs": (actor @ p["action_head.weight"].T + p["action_head.bias"]).T,
        "values": (critic @ p["value_head.weight"].T + p["value_head.bias"]).T,
        "features": actor,
    }
    if "log_std" in p:
        results["log_std"] = p["log_std"][:, None].expand(-1, len(x))
    elif "log_std_head.weight" in p:
        results["log_std"] = (actor @ p["log_std_head.weight"].T + p["log_std_head.bias"]).T
    total = torch.zeros(())
    for name, d in derivatives.items():
        if d is not None:
            total = total + (results[name] * torch.from_numpy(d.reshape(results[name].shape))).sum()
    total.backward()  # type: ignore[no-untyped-call]
    gradients = [
        np.zeros(p[n].shape) if p[n].grad is None else p[n].grad.numpy() for n in policy.layout.shapes()
    ]
    return np.concatenate([gradient.ravel() for gradient in gradients])


@settings(max_examples=60)
@given(
    case=st.sampled_from(tuple(product(TRUNKS, HEADS))),
    heads=st.sampled_from([("value",), TWO, THREE]),
    with_features=st.booleans(),
    n=st.sampled_from([1, 9, 2100]),  # the last goes through the NumPy engine in blocks
    seed=st.integers(0, 10_000),
)
def test_gradients_are_those_of_autograd(
    case: Any, heads: tuple[str, ...], with_features: bool, n: int, seed: int
) -> None:
    trunk, (actions, head) = case
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(0, n**-0.5, shape).astype(np.float32)

    policies = {engine: make(engine, heads, actions, **trunk, **head) for engine in ENGINES}
    layout = policies["numpy"].layout
    arrays = moved(policies["numpy"], seed)
    derivatives = {
        "outputs": drawn(layout.n_outputs, n),
        "log_std": drawn(layout.n_means, n) if layout.continuous else None,
        "values": drawn(n) if len(heads) == 1 else drawn(len(heads), n),
        "features": drawn(n, layout.trunks[0].widths[-1]) if with_features else None,
    }
    expected = reference_gradients(policies["numpy"], arrays, x, derivatives)
    results = []
    for policy in policies.values():
        policy.load_arrays(arrays)
        network: Any = policy.network
        outputs, _, values = network.forward(network.to_engine(x))
        results.append([np.asarray(array).copy() for array in (outputs, values, network.features())])
        network.backward(*(None if d is None else network.to_engine(d.copy()) for d in derivatives.values()))
        assert_allclose(np.asarray(network.gradients), expected, rtol=2e-3, atol=2e-4)
    for left, right in zip(*results, strict=True):
        assert_allclose(left, right, rtol=1e-4, atol=1e-5)
    assert results[0][1].shape == ((n,) if len(heads) == 1 else (len(heads), n))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shared", [False, True])
def test_each_row_of_values_is_what_one_head_with_its_weights_gives(engine: str, shared: bool) -> None:
    policy = make(engine, THREE, hidden=(6,), shared=shared)
    arrays = moved(policy, 1)
    policy.load_arrays(arrays)
    obs = np.random.default_rng(0).normal(size=(5000, 4)).astype(np.float32)  # in chunks, and in blocks
    values = policy.values(obs)
    log_probs, evaluated = policy.evaluate_actions(obs, np.zeros(4990, np.int64))
    assert values.shape == evaluated.shape == (3, 5000)
    assert_allclose(evaluated, values, rtol=1e-5, atol=1e-5)
    for row in range(3):
        one = make(engine, ("value",), hidden=(6,), shared=shared)
        head = ("value_head.weight", "value_head.bias")
        one.load_arrays(arrays | {name: arrays[name][row : row + 1] for name in head})
        assert_allclose(one.values(obs), values[row], rtol=1e-4, atol=1e-5)
        assert_allclose(one.evaluate_actions(obs, np.zeros(4990, np.int64))[0], log_probs, rtol=1e-5)


def test_one_named_head_starts_with_the_bits_of_the_plain_one() -> None:
    layouts = [build_layout(PolicyConfig(), OBS, BOX, heads) for heads in (("value",), ("anything",))]
    plain, named = (init_parameters(layout, 3) for layout in layouts)
    for name in plain:
        assert_array_equal(plain[name], named[name])
    two = init_parameters(build_layout(PolicyConfig(), OBS, BOX, TWO), 3)["value_head.weight"]
    assert_allclose(two @ two.T, np.eye(2), atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_a_memory_has_values_of_every_head(shared: bool) -> None:
    policy = make("torch", TWO, hidden=(6,), memory="lstm", memory_size=5, shared=shared)
    policy.load_arrays(moved(policy, 2))
    state = policy.start(3, critic=True)
    values = policy.values(np.ones((3, 4), np.float32), state)
    assert values.shape == (2, 3)
    assert not np.allclose(values[0], values[1])


@pytest.mark.parametrize("engine", ENGINES)
def test_popart_normalises_the_first_head_alone(engine: str) -> None:
    policy = make(engine, TWO, hidden=(6,), popart=True)
    assert policy.popart is not None
    obs = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    before = policy.values(obs)
    policy.popart.take(np.linspace(50, 150, 64, dtype=np.float32))
    assert policy.popart.std > 1
    assert_allclose(policy.values(obs), before, rtol=1e-3, atol=1e-3)  # no value changes …
    raw = np.asarray(policy.network.infer(obs)[2])
    assert not np.allclose(raw[0], before[0])  # … though the first head's own numbers do
    assert_array_equal(raw[1], before[1])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stored_policy_with_two_heads_can_be_played(engine: str) -> None:
    config = load_config("CartPole-v1:ppo", overrides=[f"engine={engine}", "policy.hidden=[8]"]).config
    trained = build_policy(config.policy, engine, OBS, gym.spaces.Discrete(2), 4, value_heads=TWO)
    played = load_policy(config, OBS, gym.spaces.Discrete(2), trained.arrays())
    obs = np.ones((2, 4), np.float32)
    assert_array_equal(played.predict(obs), trained.predict(obs))
    assert_allclose(played.values(obs), trained.values(obs))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_starts_from_a_policy_with_fewer_heads_keeps_its_new_ones(engine: str) -> None:
    source, policy = make(engine, ("value",), seed=1), make(engine, TWO, seed=2)
    new, given = policy.arrays(), source.arrays()
    notice = policy.start_from(given)
    after = policy.arrays()
    assert notice is not None
    assert "novelty" in notice
    assert_array_equal(
        after["value_head.weight"], [given["value_head.weight"][0], new["value_head.weight"][1]]
    )
    assert_array_equal(after["actor.0.weight"], given["actor.0.weight"])


def test_a_run_that_starts_from_a_policy_with_more_heads_takes_the_first() -> None:
    source, policy = make("numpy", TWO, seed=1), make("numpy", ("value",), seed=2)
    notice = policy.start_from(source.arrays())
    assert notice is not None
    assert "1 of" in notice
    assert_array_equal(policy.arrays()["value_head.weight"], source.arrays()["value_head.weight"][:1])
    assert policy.start_from(make("numpy", ("value",)).arrays()) is None


def test_a_resume_with_another_number_of_heads_is_refused() -> None:
    with pytest.raises(GymnastError, match=r"value_head\.weight"):
        make("numpy", TWO).load_arrays(make("numpy", ("value",)).arrays())


@pytest.mark.parametrize("engine", ENGINES)
def test_backward_is_for_the_last_forward_pass_once(engine: str) -> None:
    network: Any = make(engine, ("value",)).network
    network.forward(network.to_engine(np.ones((2, 4), np.float32)))
    d = [network.to_engine(np.ones(shape, np.float32)) for shape in ((3, 2), (2,))]
    network.backward(d[0], None, d[1])
    with pytest.raises(AssertionError, match="forward pass"):
        network.backward(d[0], None, d[1])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shared", [False, True])
def test_an_update_teaches_every_head_its_own_returns(engine: str, shared: bool) -> None:
    policy = make(engine, TWO, hidden=(16,), shared=shared)
    obs = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    returns = np.stack([obs[:, 0], 2.0 + obs[:, 1]])
    algo = PPO(PPOConfig(n_epochs=200, lr=1e-2, clip_range=0.2))
    actions = np.zeros(64, np.int64)
    log_probs, values = policy.evaluate_actions(obs, actions)
    batch = Batch(
        x=obs,
        actions=actions,
        log_probs=log_probs,
        values=values,
        advantages=np.zeros(64, np.float32),
        returns=returns,
    )
    hp, optimizer = algo.hyperparameters(0, 1), build_optimizer(policy.network)
    update(policy, optimizer, algo, batch, hp, 64, np.random.default_rng(0))
    before, after = (np.square(v - returns).mean(1) for v in (values, policy.values(obs)))
    assert (after < 0.05 * before).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to record on")
def test_recorded_inference_gives_the_values_of_every_head() -> None:
    spaces = OBS, gym.spaces.Discrete(3)
    policy = build_policy(PolicyConfig(hidden=(8,)), "torch", *spaces, 0, "cuda", value_heads=THREE)
    network: Any = policy.network
    assert network.records
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(16, 4)).astype(np.float32)
        plain, recorded = network.infer(x), network.infer(network.to_engine(x))
        assert recorded[2].shape == (3, 16)
        for left, right in zip((plain[0], plain[2]), (recorded[0], recorded[2]), strict=True):
            assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["value_head.weight", "value_head.bias"])
def test_a_policy_without_a_value_head_is_refused(name: str) -> None:
    arrays = make("numpy", TWO).arrays()
    del arrays[name]
    with pytest.raises(GymnastError, match=f"no '{name}'"):
        make("numpy", TWO).start_from(arrays)
