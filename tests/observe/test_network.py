"""Norms by part, and what is told of hidden units: known cases, and the same on both engines."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.observe.network import activation_metrics, effective_rank, norms, parts_of
from gymnast.policies.build import build_policy
from gymnast.policies.hidden import Hidden
from gymnast.policies.memory_state import InRuns
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.collector import Collector

OBS, ACTIONS = gym.spaces.Box(-1, 1, (5,), np.float32), gym.spaces.Discrete(3)


def policy_of(engine: str = "numpy", obs: gym.Space[Any] = OBS, **settings: Any) -> Policy:
    return build_policy(PolicyConfig(**settings), engine, obs, ACTIONS, seed=0, device="cpu")


@given(st.integers(1, 8), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_equal_singular_values_have_their_number_as_rank(rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in (40, 12))
    assert effective_rank((left @ right.T).astype(np.float32)) == pytest.approx(rank, rel=1e-4)


def test_rank_is_that_of_the_singular_values_entropy() -> None:
    values = np.random.default_rng(0).standard_normal((30, 50)).astype(np.float32)
    singular = np.linalg.svd(values.astype(np.float64), compute_uv=False)
    shares = singular / singular.sum()
    assert effective_rank(values) == pytest.approx(math.exp(-(shares * np.log(shares)).sum()), rel=1e-6)
    assert effective_rank(np.zeros((4, 3), np.float32)) == 0.0


def test_dead_dormant_and_saturated_units_are_counted() -> None:
    rng = np.random.default_rng(0)
    relu = np.abs(rng.standard_normal((100, 4))).astype(np.float32)
    relu[:, 0] = 0.0  # dead, and so dormant
    relu[:, 1] *= 1e-3  # alive, and dormant
    tanh = np.tanh(rng.standard_normal((100, 4))).astype(np.float32) * 0.9
    tanh[:, 3] = 0.999  # dead: it does not depend on the sample
    image = np.zeros((10, 2, 3, 3), np.float32)
    image[4, 1, 2, 2] = 1.0  # one channel has fired once, somewhere
    found = activation_metrics(
        [Hidden("critic", "relu", relu), Hidden("actor", "tanh", tanh), Hidden("encoder", "relu", image)]
    )
    assert found["net/dead/critic"] == 0.25
    assert found["net/dormant/critic"] == 0.5
    assert "net/saturated/critic" not in found
    assert found["net/dead/actor"] == 0.25
    assert found["net/saturated/actor"] == 0.25
    assert found["net/dead/encoder"] == found["net/dormant/encoder"] == 0.5
    assert "net/rank/encoder" not in found  # of dense layers alone


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"activation": "relu", "layer_norm": True},
        {"shared": True, "hidden": (16, 8)},
        {"critic_hidden": (7,)},
        {"hidden": ()},
    ],
    ids=str,
)
def test_both_engines_show_the_same_activations(settings: dict[str, Any]) -> None:
    numpy, torch = (policy_of(engine, **settings) for engine in ("numpy", "torch"))
    x = np.random.default_rng(1).standard_normal((40, 5)).astype(np.float32)
    own, other = numpy.network.look(x), torch.network.look(torch.network.to_engine(x))
    by_part = [sorted((layer.part, layer.values.shape) for layer in seen.layers) for seen in (own, other)]
    assert by_part[0] == [(part, tuple(shape)) for part, shape in by_part[1]]
    assert_allclose(own.outputs, other.outputs, atol=1e-6)
    assert_allclose(own.outputs, numpy.network.act(x)[0], atol=1e-6)
    ours, theirs = activation_metrics(own.layers), activation_metrics(other.layers)
    assert ours.keys() == theirs.keys()
    assert bool(ours) == (settings.get("hidden") != ())
    for key, value in ours.items():
        assert theirs[key] == pytest.approx(value, rel=1e-3), key


def test_an_image_encoder_shows_its_channels_and_its_dense_layer() -> None:
    policy = policy_of("torch", gym.spaces.Box(0, 255, (12, 12, 3), np.uint8), hidden=(), shared=True)
    x = np.random.default_rng(0).integers(0, 256, (9, 12, 12, 3), np.uint8)
    seen = policy.network.look(policy.network.to_engine(x))
    assert [(layer.part, layer.activation, layer.values.shape[1]) for layer in seen.layers] == [
        ("encoder", "relu", 16),
        ("encoder", "relu", 32),
        ("encoder", "relu", 32),
        ("encoder", "relu", 256),
    ]
    assert_allclose(seen.outputs, policy.network.act(x)[0], atol=1e-5)
    again = policy.network.look(policy.network.to_engine(x))
    assert len(again.layers) == len(seen.layers)  # nothing keeps watching
    assert 0 < activation_metrics(seen.layers)["net/rank/encoder"] <= 9


def test_a_memory_is_seen_in_the_order_of_its_runs() -> None:
    from gymnast.config.load import load_config
    from gymnast.observe.observer import _samples
    from gymnast.training.session import build_session

    session = build_session(
        load_config(
            "CartPole-v1:ppo-lstm", {"algo.n_steps": 32, "env.n_envs": 4, "algo.batch_size": "all"}
        ).config
    )
    try:
        assert isinstance(session.source, Collector)
        rollout = session.source.collect(session.learner.policy, session.rng).rollout
        policy = session.learner.policy
        x, rows = _samples(policy, rollout)
        assert isinstance(x, InRuns)
        seen = policy.network.look(x)
        known = policy.distribution.evaluate_actions(
            np, seen.outputs, seen.log_std, rollout.actions.reshape(-1)[rows]
        )
        # What acted, step by step, and what is looked at, sequence by sequence, is the same.
        assert_allclose(known.log_prob, rollout.log_probs.reshape(-1)[rows], atol=1e-5)
        assert {"actor_memory", "critic_memory", "actor", "critic"} == {each.part for each in seen.layers}
    finally:
        session.close()


@pytest.mark.parametrize("shared", [False, True])
def test_parts_cover_every_weight_once(shared: bool) -> None:
    layout = policy_of(shared=shared).layout
    parts = parts_of(layout)
    assert set(parts) == ({"trunk"} if shared else set()) | {"actor", "critic"}
    covered = np.zeros(layout.n_parameters, int)
    for spans in parts.values():
        for span in spans:
            covered[span] += 1
    assert (covered == 1).all()
    vector = np.random.default_rng(0).standard_normal(layout.n_parameters).astype(np.float32)
    total = math.sqrt(sum(norm**2 for norm in norms(vector, parts).values()))
    assert total == pytest.approx(float(np.linalg.norm(vector)), rel=1e-5)
