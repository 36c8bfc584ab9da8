"""Pictures: resized, cropped, masked, grey; whatever the layout, and beside whatever else is observed."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.wrappers.images import area_means
from gymnast.errors import GymnastError

LAYOUTS = [(20, 30, 3), (20, 30), (4, 20, 30), (2, 20, 30, 3)]


def slides(*wrappers: Any, shape: tuple[int, ...] = (20, 30, 3), **more: Any) -> gym.Env:
    return make_env(
        EnvConfig(id="tests.envs.picture_envs:Slides", kwargs={"shape": shape, **more}, wrappers=wrappers)
    )


@pytest.mark.parametrize("shape", LAYOUTS)
@pytest.mark.parametrize(
    "wrapper",
    [
        {"name": "resize", "height": 7, "width": 9},
        {"name": "resize", "height": 24, "width": 24, "keep_aspect": True, "fill": 9},
        {"name": "crop", "top": 3, "left": 1},
        {"name": "mask-region", "top": 2, "height": 4, "left": 1, "width": 5, "value": 7},
    ],
)
def test_what_is_shown_is_in_the_space_whatever_the_layout(wrapper: Any, shape: tuple[int, ...]) -> None:
    env = slides(wrapper, shape=shape)
    obs, _ = env.reset(seed=1)
    for action in (0, 1):
        assert env.observation_space.contains(obs)
        assert obs.dtype == np.uint8
        obs, *_ = env.step(action)


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 60), new_size=st.integers(1, 60), value=st.integers(0, 255))
def test_area_means_keep_what_is_constant_and_the_mean(size: int, new_size: int, value: int) -> None:
    means = area_means(size, new_size)
    assert means @ np.full(size, value, np.float32) == pytest.approx(np.full(new_size, value), abs=1e-3)
    line = np.arange(size, dtype=np.float32)
    assert (means @ line).mean() == pytest.approx(line.mean(), abs=1e-3)  # every pixel counts the same


@settings(max_examples=25, deadline=None)
@given(factor=st.integers(1, 6), seed=st.integers(0, 99))
def test_by_a_whole_factor_each_pixel_is_the_mean_of_a_square(factor: int, seed: int) -> None:
    env = slides({"name": "resize", "height": 6, "width": 5}, shape=(6 * factor, 5 * factor, 3))
    obs, _ = env.reset(seed=seed)
    squares = env.unwrapped.shown.reshape(6, factor, 5, factor, 3).mean((1, 3))
    assert np.abs(obs - squares).max() <= 0.5 + 1e-3


def test_the_aspect_ratio_is_kept_by_filling_both_sides() -> None:
    env = slides({"name": "resize", "height": 30, "width": 30, "keep_aspect": True, "fill": 9})
    obs, _ = env.reset(seed=0)
    assert obs.shape == (30, 30, 3)
    assert (obs[:5] == 9).all()
    assert (obs[25:] == 9).all()
    np.testing.assert_array_equal(obs[5:25], env.unwrapped.shown)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), shape=st.sampled_from([(9, 8, 3), (2, 9, 8, 3), (3, 9, 8)]))
def test_grey_is_the_brightness_and_leaves_grey_alone(seed: int, shape: tuple[int, ...]) -> None:
    env = slides("grayscale", shape=shape)
    obs, _ = env.reset(seed=seed)
    shown = env.unwrapped.shown
    assert obs.shape == (shape[1:] if shape[0] == 3 else shape[:-1])
    red, green, blue = np.moveaxis(shown.astype(np.float64), -3 if shape[0] == 3 else -1, 0)
    assert np.abs(obs - (0.299 * red + 0.587 * green + 0.114 * blue)).max() <= 0.501
    grey = env._picture(np.full(shape, 200, np.uint8), env._forms[()])
    assert (grey == 200).all()


def test_the_edges_are_cut_and_the_region_is_painted() -> None:
    env = slides({"name": "crop", "top": 3, "bottom": 2, "left": 4, "right": 1})
    obs, _ = env.reset(seed=0)
    np.testing.assert_array_equal(obs, env.unwrapped.shown[3:18, 4:29])

    env = slides({"name": "mask-region", "top": 3, "height": 2, "left": 4, "value": [1, 2, 3]})
    obs, _ = env.reset(seed=0)
    assert (obs[3:5, 4:] == [1, 2, 3]).all()
    expected = env.unwrapped.shown.copy()
    expected[3:5, 4:] = [1, 2, 3]
    np.testing.assert_array_equal(obs, expected)
    assert not (env.unwrapped.shown[3:5, 4:] == [1, 2, 3]).all()  # the env's own picture stays whole


def test_pictures_of_a_dict_are_changed_and_the_rest_is_not() -> None:
    env = slides("grayscale", {"name": "resize", "height": 10, "width": 10}, part=True)
    obs, _ = env.reset(seed=0)
    assert env.observation_space.contains(obs)
    assert obs["screen"].shape == (10, 10)
    np.testing.assert_array_equal(obs["numbers"], np.full(2, 0.5, np.float32))


@pytest.mark.parametrize(
    ("env_id", "wrapper", "message"),
    [
        ("CartPole-v1", "resize", "'resize' is for pictures, and Box"),
        ("CartPole-v1", "grayscale", "'grayscale' is for pictures"),
        ("slides", {"name": "resize", "height": 0}, "height must be a whole number of at least 1, not 0"),
        ("slides", {"name": "resize", "keep_aspect": "yes"}, "keep_aspect must be true or false, not 'yes'"),
        ("slides", "crop", "give at least one of top, bottom, left, right"),
        ("slides", {"name": "crop", "top": 15, "bottom": 5}, "nothing would be left of 20 × 30"),
        ("slides", {"name": "mask-region", "top": 15, "height": 9}, "rows 15 to 24 .* within 20 × 30"),
        ("slides", {"name": "mask-region", "value": [1, 2]}, "one for each of 3 channels, not 2"),
        ("slides", {"name": "mask-region", "value": "black"}, "value must be a number, not 'black'"),
    ],
)
def test_wrong_use_raises_a_clear_error(env_id: str, wrapper: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        slides(wrapper) if env_id == "slides" else make_env(EnvConfig(id=env_id, wrappers=(wrapper,)))


def test_grey_pictures_have_no_colours_to_drop() -> None:
    with pytest.raises(GymnastError, match="3 channels, not 1"):
        slides("grayscale", "grayscale")
