"""Both engines are one policy: same outputs, gradients and updates, for any policy section."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.errors import MissingExtra
from gymnast.optimizers.build import build_optimizer
from gymnast.policies import build
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.policies.torch.network import TorchNetwork
from gymnast.spaces.action_form import ActionForm
from gymnast.training.update import update

ACTIVATIONS = ("tanh", "relu", "leaky_relu", "elu", "silu", "gelu")
TRUNKS: tuple[dict[str, Any], ...] = (
    {"hidden": (7, 5)},
    {"hidden": (7, 5), "shared": True},
    {"hidden": (7, 5), "critic_hidden": (6,)},
    {"hidden": (6,), "critic_hidden": ()},
    {"hidden": ()},
)
BOX = gym.spaces.Box(-2.0, 3.0, (3,))
HEADS: tuple[tuple[gym.Space[Any], dict[str, Any]], ...] = (
    (gym.spaces.Discrete(4), {}),
    (BOX, {"gaussian": "clipped"}),
    (BOX, {"gaussian": "squashed"}),
    (BOX, {"gaussian": "clipped", "state_dependent_std": True}),
    (BOX, {"gaussian": "squashed", "state_dependent_std": True}),
    (gym.spaces.MultiDiscrete([2, 3, 3]), {}),
    (gym.spaces.Tuple([BOX, gym.spaces.Discrete(3), gym.spaces.MultiBinary(2)]), {"gaussian": "squashed"}),
    (gym.spaces.Dict({"a": gym.spaces.Discrete(2), "b": BOX}), {"state_dependent_std": True}),
)
INPUTS: tuple[tuple[gym.Space[Any], dict[str, Any]], ...] = (
    (gym.spaces.Box(-1.0, 1.0, (2, 2)), {}),
    (gym.spaces.Discrete(5, start=1), {"discrete_obs": "one_hot"}),
    (gym.spaces.Discrete(5, start=1), {"discrete_obs": "embedding", "embedding_size": 3}),
    (
        gym.spaces.Dict(
            {
                "numbers": gym.spaces.Box(-1.0, 1.0, (2,)),
                "choices": gym.spaces.Tuple(
                    [gym.spaces.MultiDiscrete([2, 3]), gym.spaces.Discrete(2, start=1)]
                ),
            }
        ),
        {"frame_stack": 2},
    ),
)
CASES = tuple(product(TRUNKS, HEADS, INPUTS))


def pair(
    config: dict[str, Any], obs: gym.Space[Any], actions: gym.Space[Any], seed: int
) -> tuple[Policy, Policy]:
    """One policy on both engines, with every parameter (biases too) away from 0."""
    policies = [
        build_policy(PolicyConfig(**config), engine, obs, actions, seed) for engine in ("numpy", "torch")
    ]
    rng = np.random.default_rng(seed)
    arrays = {
        name: value + rng.normal(0, 0.3, value.shape).astype(np.float32)
        for name, value in policies[0].arrays().items()
    }
    for policy in policies:
        policy.load_arrays(arrays)
    return policies[0], policies[1]


def random_observations(policy: Policy, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    space = policy.layout.observation_space
    if isinstance(space, gym.spaces.Dict):
        space.seed(seed)
        obs = np.zeros(n, policy.form.dtype)
        rows = policy.form.rows(obs)
        for index in range(n):
            rows[index] = space.sample()
        obs["choices/1"] += 1  # rows count from 0, this policy's space from 1
    elif isinstance(space, gym.spaces.Discrete):
        obs = rng.integers(space.start, space.start + space.n, n)
    else:
        obs = rng.normal(size=(n, *space.shape)).astype(np.float32)
    return obs


def random_batch(policy: Policy, n: int, seed: int) -> Batch:
    """Samples as if another policy had collected them, half of the time under masks."""
    rng = np.random.default_rng(seed)
    obs = random_observations(policy, n, seed)
    x = policy.preprocess(obs)
    masks = random_masks(policy, n, rng) if seed % 2 else None
    actions = policy.act(obs, policy.distribution.noise(rng, 1, n)[0], masks)
    log_probs, values = policy.evaluate_actions(x, actions, masks)

    def near(array: np.ndarray) -> np.ndarray:
        return (array + rng.normal(0, 0.2, n)).astype(np.float32)

    # Old values lie well outside the clip range used below: its edge is a kink in the loss.
    old_values = (values + rng.choice([-1, 1], n) * rng.uniform(0.2, 0.5, n)).astype(np.float32)
    return Batch(x, actions, near(log_probs), old_values, near(np.zeros(n)), near(values), masks=masks)


def random_masks(policy: Policy, n: int, rng: np.random.Generator) -> np.ndarray | None:
    """Masks that forbid the first choice of each factor in half of the rows."""
    form = ActionForm(policy.layout.action_space)
    if not form.n_logits:
        return None
    masks = np.ones((n, form.n_logits), np.bool_)
    masks[: n // 2, np.cumsum([0, *(size for size in form.sizes if size)])[:-1]] = False
    return rng.permutation(masks)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_outputs_and_gradients_are_equal(activation: str, layer_norm: bool) -> None:
    """Exhaustive: every trunk × head × kind of observation."""
    for seed, (trunk, (action_space, head), (obs_space, obs)) in enumerate(CASES):
        config = {"activation": activation, "layer_norm": layer_norm, **trunk, **head, **obs}
        a, b = pair(config, obs_space, action_space, seed)
        batch = random_batch(a, 9, seed)
        rng = np.random.default_rng(seed)
        ours, theirs = a.network.infer(batch.x), b.network.infer(batch.x)
        acting = a.network.act(batch.x), b.network.act(batch.x)
        forward = a.network.forward(batch.x)
        graph = b.network.forward(b.network.to_engine(batch.x))
        for left, *rights in zip(
            ours, theirs, forward, [None if g is None else g.numpy() for g in graph], strict=True
        ):
            for right in rights:
                assert (left is None) == (right is None)
                if left is not None and right is not None:
                    assert left.dtype == right.dtype == np.float32
                    assert_allclose(left, right, rtol=1e-4, atol=1e-5, err_msg=str(config))
        for network in acting:  # acting alone gives what the whole pass gives
            assert_allclose(network[0], ours[0], rtol=1e-4, atol=1e-5, err_msg=str(config))

        d_outputs = rng.normal(size=forward[0].shape).astype(np.float32)
        d_values = rng.normal(size=9).astype(np.float32)
        std_shape = (a.layout.n_means, d_outputs.shape[1])
        d_log_std = rng.normal(size=std_shape).astype(np.float32) if a.layout.continuous else None
        a.network.backward(d_outputs, d_log_std, d_values)
        b.network.backward(
            torch.from_numpy(d_outputs),
            None if d_log_std is None else torch.from_numpy(d_log_std),
            torch.from_numpy(d_values),
        )
        expected = b.network.gradients.numpy()
        assert np.abs(expected).sum() > 0
        assert_allclose(a.network.gradients, expected, rtol=1e-3, atol=1e-4, err_msg=str(config))


@pytest.mark.parametrize("n", [1024, 1025, 2500])
def test_a_large_batch_in_blocks_is_one_batch(n: int) -> None:
    """The NumPy engine cuts large batches into blocks that fit the cache; results are those of one batch."""
    for seed, (trunk, (action_space, head), (obs_space, obs)) in enumerate(CASES[:: 2 if n == 2500 else 5]):
        config = {"layer_norm": seed % 2 == 0, **trunk, **head, **obs}
        a, b = pair(config, obs_space, action_space, seed)
        x = random_batch(a, n, seed).x
        rng = np.random.default_rng(seed)
        ours, theirs = a.network.forward(x), b.network.forward(torch.from_numpy(x))
        for left, right in zip(ours, theirs, strict=True):
            if left is not None and right is not None:
                assert left.shape == right.shape
                assert_allclose(left, right, rtol=1e-4, atol=1e-5, err_msg=str(config))
        shapes = ((a.layout.n_outputs, n), (a.layout.n_means, n))
        d_outputs, d_log_std = (rng.normal(0, 1 / n, shape).astype(np.float32) for shape in shapes)
        d_values = rng.normal(0, 1 / n, n).astype(np.float32)
        std = d_log_std if a.layout.continuous else None
        a.network.backward(d_outputs, std, d_values)
        b.network.backward(
            torch.from_numpy(d_outputs),
            None if std is None else torch.from_numpy(std),
            torch.from_numpy(d_values),
        )
        expected = b.network.gradients.numpy()
        assert_allclose(a.network.gradients, expected, rtol=1e-3, atol=1e-5, err_msg=str(config))


def test_memory_does_not_grow_with_the_number_of_batch_sizes() -> None:
    """Rollouts end with a different number of cut-off episodes each: every size occurs."""
    policy, _ = pair({"hidden": (32, 32)}, gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), 0)
    x = np.zeros((2048, 4), np.float32)

    def use(sizes: range) -> int:
        for n in sizes:
            policy.network.infer(x[:n])
            policy.network.act(x[:n])
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        early = use(range(2000, 2008))
        late = use(range(2008, 2048))
    finally:
        tracemalloc.stop()
    assert late < early + 4 * 2**20


@settings(max_examples=30)
@given(
    case=st.sampled_from(CASES),
    activation=st.sampled_from(ACTIVATIONS),
    layer_norm=st.booleans(),
    value_clip=st.sampled_from([None, 0.1]),
    entropy_coef=st.sampled_from([0.0, 0.02]),
    normalize=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_updates_are_equal(
    case: Any,
    activation: str,
    layer_norm: bool,
    value_clip: float | None,
    entropy_coef: float,
    normalize: bool,
    seed: int,
) -> None:
    trunk, (action_space, head), (obs_space, obs) = case
    config = {"activation": activation, "layer_norm": layer_norm, **trunk, **head, **obs}
    algo = PPO(
        PPOConfig(
            n_epochs=3, value_clip_range=value_clip, entropy_coef=entropy_coef, normalize_advantage=normalize
        )
    )
    hp = algo.hyperparameters(0, 1)
    policies = pair(config, obs_space, action_space, seed)
    batch = random_batch(policies[0], 22, seed)
    optimizers, stats = [], []
    for policy in policies:
        optimizers.append(build_optimizer(policy.network))
        stats.append(update(policy, optimizers[-1], algo, batch, hp, 8, np.random.default_rng(seed)))
    ours, theirs = (policy.arrays() for policy in policies)
    assert list(ours) == list(theirs)
    for name in ours:
        assert_allclose(ours[name], theirs[name], atol=5e-5, err_msg=name)
    assert stats[0].metrics.keys() == stats[1].metrics.keys()
    for key, value in stats[0].metrics.items():
        assert value == pytest.approx(stats[1].metrics[key], rel=1e-3, abs=1e-4), key
    left, right = (optimizer.state() for optimizer in optimizers)
    assert left["steps"] == right["steps"] == 9
    assert_allclose(left["first"], right["first"], atol=1e-4)


@pytest.mark.parametrize("to", ["numpy", "torch"])
@settings(max_examples=10)
@given(case=st.sampled_from(CASES), seed=st.integers(0, 1000))
def test_a_run_changes_engine_without_a_jump(to: str, case: Any, seed: int) -> None:
    """Weights and moments of one engine continue in the other without a difference."""
    trunk, (action_space, head), (obs_space, obs) = case
    stays, other = pair({**trunk, **head, **obs}, obs_space, action_space, seed)
    if to == "numpy":
        stays, other = other, stays
    algo = PPO(PPOConfig(n_epochs=2))
    hp = algo.hyperparameters(0, 1)
    batch = random_batch(stays, 16, seed)
    adam = build_optimizer(stays.network)
    update(stays, adam, algo, batch, hp, 16, np.random.default_rng(0))

    other.load_arrays(stays.arrays())
    carried = build_optimizer(other.network)
    carried.load_state(adam.state())
    observations = random_observations(stays, 20, seed)
    assert_allclose(stays.values(observations), other.values(observations), rtol=1e-4, atol=1e-5)
    noise = stays.distribution.noise(np.random.default_rng(seed), 1, 20)[0]
    assert_allclose(stays.act(observations, noise), other.act(observations, noise), rtol=1e-4, atol=1e-5)
    for policy, optimizer in ((stays, adam), (other, carried)):
        update(policy, optimizer, algo, batch, hp, 16, np.random.default_rng(1))
    mine, its = stays.arrays(), other.arrays()
    for name in mine:
        assert_allclose(mine[name], its[name], atol=3e-5, err_msg=name)


def test_parameters_of_the_torch_engine_are_views_of_one_vector() -> None:
    _, policy = pair({}, gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), 0)
    network = policy.network
    assert isinstance(network, TorchNetwork)
    network.parameters.zero_()
    network.gradients.fill_(3.0)
    assert all(not view.any() for view in network.views.values())
    assert all((view.grad == 3.0).all() for view in network.views.values())
    assert sum(view.numel() for view in network.views.values()) == len(network.parameters)


def test_torch_shares_memory_with_numpy_but_never_writes_to_read_only_arrays() -> None:
    _, policy = pair({}, gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), 0)
    writable = np.zeros(3, np.float32)
    policy.network.to_engine(writable)[0] = 5.0
    assert writable[0] == 5.0
    locked = np.zeros(3, np.float32)
    locked.flags.writeable = False
    policy.network.to_engine(locked)[0] = 5.0
    assert locked[0] == 0.0


def test_torch_outputs_carry_no_graph() -> None:
    _, policy = pair({"state_dependent_std": True}, gym.spaces.Box(-1, 1, (4,)), BOX, 0)
    outputs, log_std, values = policy.network.forward(torch.zeros(6, 4))
    assert log_std is not None
    assert not outputs.requires_grad
    assert not log_std.requires_grad
    assert not values.requires_grad
    assert outputs.shape == log_std.shape == (3, 6)


def test_an_update_in_torch_imports_neither_its_compiler_nor_sympy() -> None:
    """These two cost more start-up than everything else together."""
    script = """
import sys, numpy as np, gymnasium as gym
from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.policies.build import build_policy
from gymnast.optimizers.build import build_optimizer
from gymnast.policies.settings import PolicyConfig
from gymnast.training.update import update
space = gym.spaces.Box(-1, 1, (3,))
policy = build_policy(PolicyConfig(layer_norm=True, state_dependent_std=True), "torch", space, space, 0)
z = np.zeros(8, np.float32)
batch = Batch(np.ones((8, 3), np.float32), np.ones((8, 3), np.float32), z, z, z, z)
algo = PPO(PPOConfig(value_clip_range=0.2))
optimizer = build_optimizer(policy.network)
update(policy, optimizer, algo, batch, algo.hyperparameters(0, 1), 8, np.random.default_rng(0))
policy.predict(np.zeros((2, 3), np.float32), rng=np.random.default_rng(0))
print(sorted({"torch._dynamo", "torch._inductor", "sympy"} & set(sys.modules)), "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_torch_is_not_imported_by_the_numpy_engine() -> None:
    script = (
        "import sys, gymnasium as gym\n"
        "from gymnast.policies.build import build_policy\n"
        "from gymnast.policies.settings import PolicyConfig\n"
        "build_policy(PolicyConfig(), 'auto', gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2), 0)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_torch_the_torch_engine_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"gymnast\[torch\]"):
        build_policy(PolicyConfig(), "torch", BOX, BOX, 0)
