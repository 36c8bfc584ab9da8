from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymnast.errors import GymnastError
from gymnast.runs.arrays import join_arrays, pack, pack_state, split_arrays, unpack, unpack_state

DTYPES = ["float64", "float32", "float16", "int64", "int32", "uint64", "uint8", "bool"]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
KEYS = st.one_of(
    st.text(max_size=6), st.sampled_from(["$array", "$float", "$", "$$x", "a/b", "a", "$structure"])
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), ARRAYS)
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=15,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


@given(NESTED)
def test_any_nested_state_comes_back_as_it_was(value: Any) -> None:
    structure, arrays = split_arrays(value)
    text = json.dumps(structure, allow_nan=False)  # strict JSON, whatever the state holds
    assert same(join_arrays(json.loads(text), arrays), value)


@given(st.dictionaries(KEYS, NESTED, max_size=4))
def test_any_state_survives_its_file(state: dict[str, Any]) -> None:
    assert same(unpack_state(pack_state(state)), state)


@given(st.dictionaries(st.text(min_size=1, max_size=8), ARRAYS, max_size=4))
def test_arrays_come_back_bit_for_bit_and_writable(arrays: dict[str, np.ndarray]) -> None:
    back = unpack(pack(arrays))
    assert {name: back[name] for name in arrays}.keys() == back.keys()
    assert all(same(arrays[name], back[name]) for name in arrays)
    assert all(array.flags.writeable for array in back.values())


def test_views_with_strides_are_stored_by_value() -> None:
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    views = {"transposed": base.T, "every second": base[:, ::2], "reversed": base[::-1], "column": base[:, 1]}
    back = unpack(pack(views))
    for name, view in views.items():
        np.testing.assert_array_equal(back[name], view)


def test_random_states_and_numpy_scalars() -> None:
    draw = np.random.default_rng(7)
    state = {
        "rng": draw.bit_generator.state,
        "n": np.int64(3),
        "x": np.float32(0.1),
        "flag": np.bool_(True),
        "t": (1, 2),
    }
    back = unpack_state(pack_state(state))
    assert back["n"] == 3
    assert type(back["n"]) is int
    assert back["x"] == float(np.float32(0.1))
    assert back["flag"] is True
    assert back["t"] == [1, 2]
    again = np.random.default_rng(0)
    again.bit_generator.state = back["rng"]
    assert again.random() == draw.random()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"env": {"when": object()}}, "state env.when is a object"),
        ({"env": [{"name": np.array(["a", "b"])}]}, "state env.0.name is an array of"),
        ({"env": {1: 2}}, "state env has the key 1"),
        ({"env": b"raw"}, "state env is a bytes"),
        ({"o": np.array([object()])}, "state o is an array of object"),
    ],
)
def test_what_is_not_data_is_refused_by_name(value: Any, words: str) -> None:
    with pytest.raises(GymnastError, match=words):
        pack_state(value)
