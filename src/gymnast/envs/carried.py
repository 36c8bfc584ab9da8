"""Observations and actions as JSON values, for the state of wrappers: arrays bit for bit, as text."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def carried(value: Any) -> Any:
    """What `restored` makes the same value of: arrays, numbers, and dicts and tuples of them."""
    if isinstance(value, dict):
        return {"dict": {key: carried(item) for key, item in value.items()}}
    if isinstance(value, tuple | list):
        return {"tuple": [carried(item) for item in value]}
    array = np.asarray(value)
    text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": text}


def restored(value: dict[str, Any]) -> Any:
    """The inverse of `carried`; lists come back as tuples, numbers as arrays without axes."""
    if "dict" in value:
        return {key: restored(item) for key, item in value["dict"].items()}
    if "tuple" in value:
        return tuple(restored(item) for item in value["tuple"])
    array = np.frombuffer(base64.b64decode(value["bytes"]), np.dtype(value["dtype"]))
    return array.reshape(value["shape"]).copy()
