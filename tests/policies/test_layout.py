"""Names, shapes and first values of the parameters."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.flat import HIDDEN_GAIN
from gymnast.policies.layout import build_layout, init_parameters
from gymnast.policies.settings import PolicyConfig

OBS, ACTIONS = gym.spaces.Box(-1, 1, (6,)), gym.spaces.Discrete(3)
CONTINUOUS = gym.spaces.Box(-1, 1, (2,))


@settings(max_examples=20)
@given(
    hidden=st.lists(st.integers(1, 20), max_size=3).map(tuple),
    activation=st.sampled_from(sorted(HIDDEN_GAIN)),
    shared=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_first_weights_are_orthogonal_with_their_gain(
    hidden: tuple[int, ...], activation: Any, shared: bool, seed: int
) -> None:
    layout = build_layout(PolicyConfig(hidden=hidden, activation=activation, shared=shared), OBS, ACTIONS)
    parameters = init_parameters(layout, seed)
    assert {name: value.shape for name, value in parameters.items()} == layout.shapes()
    assert sum(value.size for value in parameters.values()) == layout.n_parameters
    for name, value in parameters.items():
        assert value.dtype == np.float32
        if name.endswith(".bias"):
            assert not value.any()
            continue
        gain = {"action_head.weight": 0.01, "value_head.weight": 1.0}.get(name, HIDDEN_GAIN[activation])
        short = value if value.shape[0] <= value.shape[1] else value.T
        assert_allclose(short @ short.T, gain**2 * np.eye(len(short)), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("activation", sorted(HIDDEN_GAIN))
def test_the_first_policy_is_near_uniform(activation: Any, seed: int) -> None:
    policy = build_policy(PolicyConfig(activation=activation), "numpy", OBS, ACTIONS, seed)
    obs = np.random.default_rng(seed).normal(0, 3, (200, 6)).astype(np.float32)
    actions = np.zeros(200, np.int64)
    log_probs, _ = policy.evaluate_actions(policy.preprocessor.apply(obs), actions)
    assert_allclose(np.exp(log_probs), 1 / 3, atol=0.05)


def test_the_first_gaussian_is_centred_with_the_asked_std() -> None:
    for state_dependent in (False, True):
        config = PolicyConfig(log_std_init=-0.7, state_dependent_std=state_dependent)
        policy = build_policy(config, "numpy", OBS, CONTINUOUS, 0)
        outputs, log_std = policy.network.act(
            np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
        )
        assert log_std is not None
        assert_allclose(outputs, 0, atol=0.05)
        assert_allclose(log_std, -0.7, atol=0.05)


def test_the_seed_decides_the_weights() -> None:
    layout = build_layout(PolicyConfig(), OBS, ACTIONS)
    one, same, other = (init_parameters(layout, seed) for seed in (1, 1, 2))
    assert all((one[name] == same[name]).all() for name in one)
    assert not (one["actor.0.weight"] == other["actor.0.weight"]).all()
    assert not (one["actor.0.weight"] == one["critic.0.weight"]).all()


def test_names_of_every_kind_of_trunk() -> None:
    def names(**config: Any) -> list[str]:
        return list(build_layout(PolicyConfig(**config), OBS, CONTINUOUS).shapes())

    assert names(hidden=(4,)) == [
        "actor.0.weight",
        "critic.0.weight",
        "actor.0.bias",
        "critic.0.bias",
        "action_head.weight",
        "action_head.bias",
        "log_std",
        "value_head.weight",
        "value_head.bias",
    ]
    assert names(hidden=(4,), shared=True, layer_norm=True)[:4] == [
        "trunk.0.weight",
        "trunk.0.bias",
        "trunk.0.norm.weight",
        "trunk.0.norm.bias",
    ]
    assert "log_std_head.weight" in names(state_dependent_std=True)
    assert "log_std" not in names(state_dependent_std=True)


def test_an_empty_critic_is_linear_not_a_copy_of_the_actor() -> None:
    shapes = build_layout(PolicyConfig(hidden=(4,), critic_hidden=()), OBS, ACTIONS).shapes()
    assert shapes["value_head.weight"] == (1, 6)
    assert not any(name.startswith("critic") for name in shapes)


@pytest.mark.parametrize(
    ("obs", "actions", "message"),
    [
        (gym.spaces.Text(3), ACTIONS, "observations of Text"),
        (gym.spaces.Dict({"a": OBS, "b": gym.spaces.Text(3)}), ACTIONS, "observations of Dict.*in 'b'"),
        (OBS, gym.spaces.Text(3), "actions of Text"),
        (OBS, gym.spaces.Box(0, 9, (2, 2), np.int64), "a Box of int64"),
        (OBS, gym.spaces.Dict({"a": ACTIONS, "b": gym.spaces.Tuple([])}), "Tuple is empty"),
    ],
)
def test_other_spaces_are_refused(obs: Any, actions: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        build_layout(PolicyConfig(), obs, actions)
