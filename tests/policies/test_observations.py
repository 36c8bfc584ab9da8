"""From raw observations to the network's input."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.errors import GymnastError
from gymnast.policies.layout import build_layout
from gymnast.policies.preprocess import Preprocessor
from gymnast.policies.settings import PolicyConfig

ACTIONS = gym.spaces.Discrete(2)


def preprocessor(space: gym.Space[Any], **config: Any) -> Preprocessor:
    return Preprocessor(build_layout(PolicyConfig(**config), space, ACTIONS))


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    shift=st.sampled_from([0.0, 50.0, -1000.0]),
    seed=st.integers(0, 1000),
)
def test_running_statistics_are_the_moments_of_all_data(sizes: list[int], shift: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ours = preprocessor(gym.spaces.Box(-np.inf, np.inf, (2, 2)), normalize_obs="running")
    batches = [rng.normal(shift, 3.0, (n, 2, 2)).astype(np.float32) for n in sizes]
    for batch in batches:
        ours.observe(batch)
    seen = np.concatenate(batches).reshape(-1, 4).astype(np.float64)
    assert ours.count == len(seen)
    assert_allclose(ours.mean, seen.mean(0), rtol=1e-9)
    assert_allclose(ours.var, seen.var(0), rtol=1e-6, atol=1e-8)
    applied = ours.apply(batches[-1])
    expected = np.clip((batches[-1].reshape(-1, 4) - seen.mean(0)) / np.sqrt(seen.var(0) + 1e-8), -10, 10)
    assert applied.dtype == np.float32
    if len(seen) > 10:  # fewer give a std near 0
        assert_allclose(applied, expected, rtol=1e-3, atol=2e-3)


def test_rollouts_of_any_leading_shape_count_every_observation() -> None:
    ours = preprocessor(gym.spaces.Box(-np.inf, np.inf, (3,)), normalize_obs="running")
    data = np.random.default_rng(0).normal(size=(5, 4, 3)).astype(np.float32)
    ours.observe(data)
    assert ours.count == 20
    assert_allclose(ours.mean, data.reshape(-1, 3).mean(0), rtol=1e-5)


def test_applying_never_moves_the_statistics() -> None:
    ours = preprocessor(gym.spaces.Box(-np.inf, np.inf, (3,)), normalize_obs="running")
    ours.observe(np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32))
    before = {name: value.copy() for name, value in ours.buffers().items()}
    for _ in range(3):
        ours.apply(np.full((4, 3), 1e3, np.float32))
    assert all((before[name] == value).all() for name, value in ours.buffers().items())


def test_normalised_observations_are_clipped() -> None:
    ours = preprocessor(gym.spaces.Box(-np.inf, np.inf, (1,)), normalize_obs="running", clip_obs=2.5)
    ours.observe(np.array([[-1.0], [1.0]], np.float32))
    assert ours.apply(np.array([[100.0], [-100.0], [1.0]], np.float32))[:, 0].tolist() == pytest.approx(
        [2.5, -2.5, 1.0]
    )


def test_bounds_become_minus_one_to_one() -> None:
    low, high = np.array([-1.2, -0.07, 5.0], np.float32), np.array([0.6, 0.07, 905.0], np.float32)
    ours = preprocessor(gym.spaces.Box(low, high), normalize_obs="bounds")
    obs = np.stack([low, high, (low + high) / 2])
    assert_allclose(ours.apply(obs), [[-1] * 3, [1] * 3, [0] * 3], atol=1e-4)
    ours.observe(np.full((50, 3), 7.0, np.float32))  # bounds are not learned
    assert_allclose(ours.apply(obs), [[-1] * 3, [1] * 3, [0] * 3], atol=1e-4)


def test_bounds_need_a_bounded_space() -> None:
    with pytest.raises(GymnastError, match="use 'running'"):
        preprocessor(gym.spaces.Box(-np.inf, 1, (2,)), normalize_obs="bounds")


def test_statistics_survive_a_checkpoint() -> None:
    space = gym.spaces.Box(-np.inf, np.inf, (3,))
    one, other = (preprocessor(space, normalize_obs="running") for _ in range(2))
    rng = np.random.default_rng(0)
    one.observe(rng.normal(4, 2, (30, 3)).astype(np.float32))
    stored = {name: value.copy() for name, value in one.buffers().items()}
    other.load_buffers(stored)
    more = rng.normal(0, 1, (30, 3)).astype(np.float32)
    assert (one.apply(more) == other.apply(more)).all()
    one.observe(more)
    other.observe(more)
    assert one.count == other.count == 60
    assert (one.mean == other.mean).all()
    assert (one.var == other.var).all()
    other.load_buffers(stored)
    assert other.count == 30, "what was stored must not move with the preprocessor"


def test_discrete_observations() -> None:
    space = gym.spaces.Discrete(4, start=2)
    obs = np.array([2, 5, 3])
    hot = preprocessor(space, discrete_obs="one_hot", normalize_obs="running")
    assert hot.apply(obs).tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert preprocessor(space, discrete_obs="embedding").apply(obs).tolist() == [0, 3, 1]
    hot.observe(obs)  # there is nothing to normalise in a one-hot vector
    assert hot.buffers() == {}


def test_without_normalisation_float32_is_passed_through_and_the_rest_is_converted() -> None:
    ours = preprocessor(gym.spaces.Box(0, 255, (4,), np.uint8))
    assert ours.apply(np.full((3, 4), 200, np.uint8)).tolist() == [[200.0] * 4] * 3
    assert ours.apply(np.zeros((1, 4), np.uint8)).dtype == np.float32
    ready = np.ones((2, 4), np.float32)
    assert np.shares_memory(preprocessor(gym.spaces.Box(-1, 1, (4,))).apply(ready), ready)


def test_pixels_stay_bytes_unless_they_enter_as_numbers() -> None:
    space = gym.spaces.Box(0, 255, (9, 9, 3), np.uint8)
    pixels = np.random.default_rng(0).integers(0, 256, (2, 9, 9, 3), np.uint8)
    assert preprocessor(space).apply(pixels) is pixels
    flat = preprocessor(space, encoder="mlp").apply(pixels)
    assert flat.dtype == np.float32
    assert_allclose(flat, pixels.reshape(2, -1) / 255.0, rtol=1e-6)
