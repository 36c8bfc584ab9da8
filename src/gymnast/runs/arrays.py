"""Nested training state ↔ one JSON text and a flat dict of arrays: data, never code.

The state of a run mixes arrays (moments of the optimiser, observations, env states) with plain
values (counters, random states as big integers). Arrays go into safetensors; the structure around
them becomes JSON in which `{"$array": name}` means an array and `{"$float": "nan"}` for a
number that JSON has no word for. A dict key that begins with `$` is written with one `$` more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gymnast.errors import GymnastError

_STRUCTURE = "$structure"  # array names never start with '$', see `_Splitter`
_STORABLE = frozenset(
    (
        "float64",
        "float32",
        "float16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint64",
        "uint32",
        "uint16",
        "uint8",
        "bool",
    )
)


def split_arrays(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A nested structure → (what JSON can hold, arrays by name). NumPy scalars become numbers."""
    splitter = _Splitter()
    return splitter.visit(value, ()), splitter.arrays


class _Splitter:
    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def visit(self, value: Any, path: tuple[str, ...]) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, np.ndarray):
            return {"$array": self._keep(value, path)}
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value)  # an IntEnum would print its name
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
        if isinstance(value, Mapping):
            return {self._key(key, path): self.visit(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.visit(item, (*path, str(i))) for i, item in enumerate(value)]
        raise GymnastError(f"{_where(path)} is a {type(value).__name__}, which a checkpoint cannot hold")

    def _key(self, key: Any, path: tuple[str, ...]) -> str:
        if not isinstance(key, str):
            raise GymnastError(f"{_where(path)} has the key {key!r}; a checkpoint holds text keys only")
        return f"${key}" if key.startswith("$") else key

    def _keep(self, array: np.ndarray, path: tuple[str, ...]) -> str:
        if array.dtype.name not in _STORABLE:
            raise GymnastError(f"{_where(path)} is an array of {array.dtype}, which a checkpoint cannot hold")
        plain = "/".join(path).lstrip("$") or "array"
        name, count = plain, 1
        while name in self.arrays:  # {"a": {"b": x}, "a/b": y}
            count += 1
            name = f"{plain}#{count}"
        self.arrays[name] = array
        return name


def join_arrays(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `split_arrays`; tuples come back as lists."""
    if isinstance(value, list):
        return [join_arrays(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        if key == "$array":
            return arrays[item]
        if key == "$float":
            return float(item)
    return {key[1:] if key.startswith("$") else key: join_arrays(item, arrays) for key, item in value.items()}


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as safetensors, bit for bit."""
    from safetensors.numpy import save

    for name, array in arrays.items():
        if array.dtype.name not in _STORABLE:
            raise GymnastError(f"{name} is an array of {array.dtype}, which a checkpoint cannot hold")
    # safetensors reads the memory directly, so a strided view must be made contiguous first.
    # asarray keeps 0-d arrays 0-d, which ascontiguousarray does not.
    return save({name: np.asarray(array, order="C") for name, array in arrays.items()})


def unpack(data: bytes) -> dict[str, np.ndarray]:
    """Arrays of a safetensors file, each with memory of its own that may be written to."""
    from safetensors.numpy import load

    return {name: array.copy() for name, array in load(data).items()}


def pack_state(state: Mapping[str, Any]) -> bytes:
    """A nested state as one safetensors file; its structure travels as an array of bytes,
    so that the checksum of the file covers it too."""
    structure, arrays = split_arrays(state)
    text = json.dumps(structure, allow_nan=False, separators=(",", ":")).encode()
    return pack({**arrays, _STRUCTURE: np.frombuffer(text, dtype=np.uint8)})


def unpack_state(data: bytes) -> dict[str, Any]:
    """The inverse of `pack_state`."""
    arrays = unpack(data)
    structure = json.loads(arrays.pop(_STRUCTURE).tobytes())
    state: dict[str, Any] = join_arrays(structure, arrays)
    return state


def _where(path: tuple[str, ...]) -> str:
    return "state " + ".".join(path) if path else "the state"
