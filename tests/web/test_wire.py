"""The binary that carries arrays to the page."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from gymnast.web.wire import json_bytes, pack, unpack


def test_arrays_come_back_in_four_kinds() -> None:
    given = {
        "floats": np.linspace(0, 1, 7, dtype=np.float32).reshape(7, 1),
        "doubles": np.array([np.nan, np.inf, 1e300]),
        "half": np.array([0.5], np.float16),
        "whole": np.array([[1, -2]], np.int64),
        "large": np.array([2**40]),
        "flags": np.array([True, False, True]),
        "pixels": np.arange(12, dtype=np.uint8).reshape(2, 2, 3),
        "empty": np.zeros((3, 0), np.float32),
        "turned": np.arange(6, dtype=np.int32).reshape(2, 3).T,
    }
    header, arrays = unpack(pack({"a": 1}, given, texts={"labels": ["x", "é"]}, infos=[{"n": 1}]))
    assert header["meta"] == {"a": 1}
    assert header["texts"] == {"labels": ["x", "é"]}
    assert header["infos"] == [{"n": 1}]
    kinds = {name: place["dtype"] for name, place in header["arrays"].items()}
    assert kinds == {
        "floats": "f4",
        "doubles": "f8",
        "half": "f4",
        "whole": "i4",
        "large": "f8",
        "flags": "u1",
        "pixels": "u1",
        "empty": "f4",
        "turned": "i4",
    }
    for name, array in given.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_every_array_begins_at_a_multiple_of_eight() -> None:
    for note in range(9):
        data = pack({"note": "x" * note}, {"a": np.zeros(3, np.uint8), "b": np.zeros(2)})
        (length,) = struct.unpack_from("<I", data, 4)
        assert (8 + length) % 8 == 0
        places = json.loads(data[8 : 8 + length])["arrays"].values()
        assert all(place["offset"] % 8 == 0 for place in places)


def test_pictures_are_found_by_their_ends() -> None:
    header, arrays = unpack(pack({}, {}, frames=[b"one", b"", b"three"], mime="image/jpeg"))
    assert header["frames"] == {"mime": "image/jpeg", "ends": "frames_ends"}
    assert arrays["frames_ends"].tolist() == [3, 3, 8]
    assert arrays["frames"].tobytes() == b"onethree"


def test_json_has_no_nan() -> None:
    said = json.loads(json_bytes({"a": float("nan"), "b": [float("inf"), 1.5], "c": ({"d": -float("inf")},)}))
    assert said == {"a": None, "b": [None, 1.5], "c": [{"d": None}]}


@pytest.mark.parametrize("data", [b"", b"GYM1", b"PNG1" + b"\0" * 8, pack({}, {"a": np.zeros(9)})[:-8]])
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack(data)
    with pytest.raises(TypeError):
        pack({}, {"words": np.array(["a"])})
