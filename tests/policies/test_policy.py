"""A whole policy: acting, evaluating, and going through a checkpoint."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose

from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig

OBS = gym.spaces.Box(-1, 1, (3,))
ENGINES = ["numpy", "torch"]


def make(engine: str, actions: gym.Space[Any] | None = None, seed: int = 0, **config: Any) -> Policy:
    return build_policy(PolicyConfig(**config), engine, OBS, actions or gym.spaces.Discrete(4), seed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "actions", [gym.spaces.Discrete(4), gym.spaces.Box(-1, 1, (2,))], ids=["discrete", "box"]
)
@pytest.mark.parametrize("rows", [1, 100, 5000])
def test_evaluating_in_chunks_equals_one_pass(engine: str, actions: Any, rows: int) -> None:
    policy = make(engine, actions, actor_gain=1.0)
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(rows + 3, 3)).astype(np.float32)  # three more, that get values only
    taken = policy.act(obs[:rows], policy.distribution.noise(rng, 1, rows)[0])
    log_probs, values = policy.evaluate_actions(obs, taken)
    assert log_probs.shape == (rows,)
    assert values.shape == (rows + 3,)
    outputs, log_std, expected = policy.network.infer(obs)
    assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    assert_allclose(policy.values(obs), expected, rtol=1e-4, atol=1e-5)
    known = policy.distribution.evaluate_actions(np, outputs[:, :rows], log_std, taken)
    assert_allclose(log_probs, known.log_prob, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_are_legal_and_repeat_with_their_generator(engine: str) -> None:
    for actions in (gym.spaces.Discrete(4, start=3), gym.spaces.Box(-0.5, 2.0, (2,))):
        policy = make(engine, actions, log_std_init=2.0, actor_gain=1.0)
        obs = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
        sampled = policy.predict(obs, rng=np.random.default_rng(5))
        assert (sampled == policy.predict(obs, rng=np.random.default_rng(5))).all()
        assert not (sampled == policy.predict(obs, rng=np.random.default_rng(6))).all()
        greedy = policy.predict(obs)
        assert (greedy == policy.predict(obs)).all()
        for row in (*sampled, *greedy):
            assert actions.contains(row if row.ndim else int(row))


@pytest.mark.parametrize("source", ENGINES)
@pytest.mark.parametrize("target", ENGINES)
def test_a_checkpoint_loads_in_either_engine(source: str, target: str) -> None:
    config: dict[str, Any] = {"normalize_obs": "running", "layer_norm": True, "actor_gain": 1.0}
    one, other = make(source, seed=1, **config), make(target, seed=2, **config)
    obs = np.random.default_rng(0).normal(3, 5, (50, 3)).astype(np.float32)
    one.preprocessor.observe(obs)
    stored = one.arrays()
    other.load_arrays(stored)
    assert_allclose(other.values(obs), one.values(obs), rtol=1e-4, atol=1e-5)
    assert (other.greedy(obs) == one.greedy(obs)).all()
    back = other.arrays()
    assert list(back) == list(stored)
    assert all(back[name].tobytes() == stored[name].tobytes() for name in stored)  # bit for bit


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_are_copies(engine: str) -> None:
    policy = make(engine, normalize_obs="running")
    stored = policy.arrays()
    for value in stored.values():
        value += 1.0
    assert not any((policy.arrays()[name] == stored[name]).any() for name in stored)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("made_with", "message"),
    [
        ({"hidden": (64, 32)}, "is .* in the checkpoint"),
        ({"hidden": (64, 64, 64)}, "has 'actor.2.weight'"),
        ({"hidden": (64,)}, "has no 'actor.1.weight'"),
        ({"shared": True}, "'trunk.0.weight'"),
        ({"layer_norm": True}, "has 'actor.0.norm.weight'"),
        ({"normalize_obs": "running"}, "has 'obs_norm.mean'"),
    ],
)
def test_a_checkpoint_of_another_policy_is_refused(
    engine: str, made_with: dict[str, Any], message: str
) -> None:
    policy = make(engine)
    before = policy.arrays()
    with pytest.raises(GymnastError, match=message):
        policy.load_arrays(make("numpy", **made_with).arrays())
    assert all((before[name] == value).all() for name, value in policy.arrays().items()), "half loaded"


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_without_their_statistics_are_refused(engine: str) -> None:
    with pytest.raises(GymnastError, match=r"has no 'obs_norm\.mean'"):
        make(engine, normalize_obs="running").load_arrays(make("numpy").arrays())
