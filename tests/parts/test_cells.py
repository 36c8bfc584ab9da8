"""Cell functions: which observations are the same place."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import TypeAdapter

from gymnast.errors import GymnastError
from gymnast.parts.cells import CellFunction, CellsConfig, build_cells, hash_words
from gymnast.spaces.observation_form import ObservationForm

UNIT = gym.spaces.Box(-1, 1, (2,), np.float32)
SCREEN = gym.spaces.Box(0, 255, (24, 33, 3), np.uint8)
PARTS = gym.spaces.Dict({"screen": SCREEN, "variables": UNIT, "room": gym.spaces.Discrete(5, start=2)})


def cells(config: Any, space: gym.Space[Any], names: tuple[str, ...] = ()) -> CellFunction:
    return build_cells(TypeAdapter(CellsConfig).validate_python(config), space, names)


def parts(n: int) -> np.ndarray:
    """A batch of the Dict, all zeros."""
    return np.zeros(n, ObservationForm(PARTS).dtype)


@given(arrays(np.uint32, (7, 3), elements=st.integers(0, 3)))
def test_rows_share_a_key_exactly_where_they_are_equal(words: np.ndarray) -> None:
    keys = hash_words(words)
    assert keys.dtype == np.uint64
    for i, one in enumerate(words):
        for j, other in enumerate(words):
            assert (keys[i] == keys[j]) == (one == other).all()


def test_keys_of_many_similar_rows_do_not_collide() -> None:
    grid = np.stack(np.meshgrid(np.arange(500), np.arange(400)), -1).reshape(-1, 2).astype(np.uint32)
    assert len(np.unique(hash_words(grid))) == len(grid)
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)  # single bits in any of 40 words
    rows = np.zeros((40, 32, 40), np.uint32)
    rows[np.arange(40), :, np.arange(40)] = bits
    assert len(np.unique(hash_words(rows.reshape(-1, 40)))) == 40 * 32


def test_keys_never_change_because_checkpoints_hold_them() -> None:
    assert hash_words(np.array([[0, 1, 2], [7, 7, 7]], np.uint32)).tolist() == [
        8935520561691412355,
        7174087047214671834,
    ]


@given(arrays(np.float32, (20, 2), elements=st.floats(-3, 3, width=32)))
def test_bins_are_equal_parts_of_the_bounds_and_what_lies_outside_counts_as_the_nearest(
    x: np.ndarray,
) -> None:
    keys = cells({"name": "bins", "bins": 4}, UNIT)(x)
    expected = np.clip(np.floor((x.astype(np.float64) + 1) / 2 * 4), 0, 3)
    for i in range(len(x)):
        assert (keys == keys[i]).tolist() == (expected == expected[i]).all(1).tolist()


def test_bins_of_unbounded_components_need_bounds() -> None:
    space = gym.spaces.Box(np.array([-1, -np.inf], np.float32), np.array([1, np.inf], np.float32))
    with pytest.raises(GymnastError, match=r"explore.cells.low: component 1 has no bound"):
        cells("bins", space)
    with pytest.raises(GymnastError, match="3 are given for 2 components"):
        cells({"name": "bins", "low": [0, 0, 0], "high": 1}, space)
    with pytest.raises(GymnastError, match="high must lie above"):
        cells({"name": "bins", "low": 1, "high": 1}, space)
    keys = cells({"name": "bins", "bins": [2, 4], "low": [-1, -8], "high": [1, 8]}, space)
    x = np.array([[0.5, 1], [0.9, 3], [0.5, 5], [-0.5, 1], [0.5, 100]], np.float32)
    assert len(np.unique(keys(x))) == 3
    assert keys(x)[0] == keys(x)[1]
    assert keys(x)[2] == keys(x)[4]


@given(arrays(np.float32, (8, 2), elements=st.sampled_from([0.0, -0.0, 1e-9, 1.0])))
def test_hash_takes_every_observation_apart_that_differs(x: np.ndarray) -> None:
    keys = cells("hash", UNIT)(x)
    for i in range(len(x)):
        assert (keys == keys[i]).tolist() == (x == x[i]).all(1).tolist()  # -0.0 equals 0.0


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Discrete(4, start=3),
        gym.spaces.MultiDiscrete([3, 2]),
        gym.spaces.MultiBinary(9),
        gym.spaces.Box(0, 1, (3, 3, 5), np.uint8),
        gym.spaces.Box(0, 255, (5,), np.uint8),
        PARTS,
    ],
    ids=lambda space: type(space).__name__,
)
@pytest.mark.parametrize("name", ["hash", "auto"])
def test_every_kind_of_observation_has_cells(space: gym.Space[Any], name: str) -> None:
    form = ObservationForm(space)
    space.seed(1)
    obs = np.zeros((64, *form.shape), form.dtype)
    rows = form.rows(obs)
    samples = [space.sample() for _ in range(32)] * 2
    for i, sample in enumerate(samples):
        rows[i] = sample
    keys = cells(name, space)(obs)
    assert keys.shape == (64,)
    assert (keys[:32] == keys[32:]).all()
    if name == "hash" and not isinstance(space, gym.spaces.Dict):
        different = len({np.asarray(sample).tobytes() for sample in samples})
        assert len(np.unique(keys)) == different > 1


def test_downsampled_images_ignore_noise_and_see_movement() -> None:
    keys = cells({"name": "downsample", "width": 4, "height": 3, "levels": 4}, SCREEN)
    image = np.full((1, 24, 33, 3), 100, np.uint8)
    noisy = image.copy()
    noisy[:, ::2] += 5
    moved = image.copy()
    moved[:, :8, :9] = 255
    channels_first = gym.spaces.Box(0, 255, (3, 24, 33), np.uint8)
    first = cells({"name": "downsample", "width": 4, "height": 3, "levels": 4}, channels_first)
    assert keys(image) == keys(noisy)
    assert keys(image) != keys(moved)
    assert keys(moved) == first(moved.transpose(0, 3, 1, 2))
    # exact means, also where the sizes do not divide
    gray = np.random.default_rng(0).integers(0, 256, (9, 24, 33), np.uint8)
    small = np.stack(
        [
            [gray[:, 8 * i : 8 * i + 8, 33 * j // 4 : 33 * (j + 1) // 4].mean((1, 2)) for j in range(4)]
            for i in range(3)
        ]
    )
    levels = np.floor(small.transpose(2, 0, 1) / 255 * 4).reshape(9, -1).astype(np.uint32)
    flat = cells(
        {"name": "downsample", "width": 4, "height": 3, "levels": 4},
        gym.spaces.Box(0, 255, (24, 33), np.uint8),
    )
    assert (flat(gray) == hash_words(levels)).all()


def test_downsample_uses_the_images_of_a_dict_alone() -> None:
    obs = parts(2)
    obs["variables"][1] = 0.7
    keys = cells("downsample", PARTS)(obs)
    assert keys[0] == keys[1]
    with pytest.raises(GymnastError, match="downsample needs an image"):
        cells("downsample", UNIT)


def test_components_by_name_index_and_part() -> None:
    x = np.array([[0.1, 0.9], [0.1, -0.9], [0.2, 0.9]], np.float32)
    position = cells({"name": "components", "of": ["position"]}, UNIT, ("position", "velocity"))(x)
    assert position[0] == position[1] != position[2]
    wide = cells({"name": "components", "of": {"position": 0.5}}, UNIT, ("position", "velocity"))(x)
    assert wide[0] == wide[1] == wide[2]
    velocity = cells({"name": "components", "of": ["obs[1]"]}, UNIT)(x)
    assert velocity[0] == velocity[2] != velocity[1]
    obs = parts(3)
    obs["room"][1] = 3
    obs["variables"][2] = (0.0, 0.6)
    room = cells({"name": "components", "of": ["room"]}, PARTS)(obs)
    assert room[0] == room[2] != room[1]
    variable = cells({"name": "components", "of": {"variables[1]": 0.25, "room": 1}}, PARTS)(obs)
    assert len(np.unique(variable)) == 3
    below = cells({"name": "components", "of": {"obs[0]": 1.0}}, UNIT)(
        np.array([[-0.5, 0], [0.5, 0]], np.float32)
    )
    assert below[0] != below[1], "cells do not straddle 0"


def test_unknown_component_is_named_with_the_nearest() -> None:
    with pytest.raises(GymnastError, match=r"no component 'velocty' \(did you mean 'velocity'\?\)"):
        cells({"name": "components", "of": ["velocty"]}, UNIT, ("position", "velocity"))
    with pytest.raises(GymnastError, match=r"no component 'floor'; there are .*room"):
        cells({"name": "components", "of": ["floor"]}, gym.spaces.Dict({"room": gym.spaces.Discrete(3)}))
