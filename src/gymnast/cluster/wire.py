"""Arrays beside a JSON message, as bytes for a pipe: nothing is pickled."""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def packed(arrays: Arrays) -> tuple[list[list[Any]], bytes]:
    """What each array is, in JSON values, and all of them as bytes."""
    whole = [np.ascontiguousarray(array) for array in arrays.values()]
    heads = [
        [name, np.lib.format.dtype_to_descr(array.dtype), list(array.shape)]
        for name, array in zip(arrays, whole, strict=True)
    ]
    return heads, b"".join(array.reshape(-1).view(np.uint8).data for array in whole if array.size)


def unpacked(heads: list[list[Any]], data: bytes) -> Arrays:
    """The inverse; the arrays are views of `data`, which cannot be written."""
    arrays, at = {}, 0
    for name, described, shape in heads:
        dtype = np.lib.format.descr_to_dtype(_tuples(described))
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = (
            np.frombuffer(data, dtype, count, at).reshape(shape) if count else np.empty(shape, dtype)
        )
        at += count * dtype.itemsize
    return arrays


def _tuples(described: Any) -> Any:
    """JSON has lists where a description of fields has tuples, also of shapes."""
    if isinstance(described, str):
        return described
    return [(name, _tuples(kind), *(tuple(size) for size in shape)) for name, kind, *shape in described]
