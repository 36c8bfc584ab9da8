"""Arrays for the browser in one binary, which it reads without copying (static/wire.js).

    GYM1 | uint32 length of the header | header, JSON padded with spaces | body

The body begins at a multiple of 8, as does every array in it; numbers are little-endian. The header has
`arrays` {name: {dtype, shape, offset}} with offsets from the start of the body, beside `meta`, `texts`,
`infos` and `frames`.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MAGIC = b"GYM1"
MIME = "application/vnd.gymnast.arrays"
_KINDS = {"f4": "<f4", "f8": "<f8", "i4": "<i4", "u1": "u1"}
_WHOLE = 2**31


def pack(
    meta: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    texts: Mapping[str, Sequence[str]] | None = None,
    infos: Sequence[Mapping[str, Any]] = (),
    frames: Sequence[bytes] = (),
    mime: str = "image/png",
) -> bytes:
    """One binary; `frames` are encoded pictures, one for each row."""
    given = dict(arrays)
    header: dict[str, Any] = {"meta": meta, "texts": dict(texts or {}), "infos": list(infos), "frames": None}
    if frames:
        given["frames_ends"] = np.cumsum([len(frame) for frame in frames]).astype(np.int32)
        given["frames"] = np.frombuffer(b"".join(frames), np.uint8)
        header["frames"] = {"mime": mime, "ends": "frames_ends"}
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    offset = 0
    for name, array in given.items():
        kind, plain = _plain(np.asarray(array))
        places[name] = {"dtype": kind, "shape": list(plain.shape), "offset": offset}
        data = plain.tobytes()
        data += b"\0" * (-len(data) % 8)
        parts.append(data)
        offset += len(data)
    head = json_bytes(header | {"arrays": places})
    head += b" " * (-(len(MAGIC) + 4 + len(head)) % 8)
    return b"".join((MAGIC, struct.pack("<I", len(head)), head, *parts))


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays; ValueError for what `pack` did not write."""
    if data[:4] != MAGIC or len(data) < 8:
        raise ValueError("not a binary of this kind")
    (length,) = struct.unpack_from("<I", data, 4)
    header = json.loads(data[8 : 8 + length])
    body = memoryview(data)[8 + length :]
    arrays = {}
    for name, place in header["arrays"].items():
        count = math.prod(place["shape"])
        array = np.frombuffer(body, _KINDS[place["dtype"]], count, place["offset"])
        arrays[name] = array.reshape(place["shape"])
    return header, arrays


def _plain(array: np.ndarray) -> tuple[str, np.ndarray]:
    """The array in one of the four kinds that the page reads; large whole numbers as floats."""
    if array.dtype == bool or array.dtype == np.uint8:
        kind = "u1"
    elif array.dtype.kind in "iu":
        fits = array.size == 0 or (int(array.min()) >= -_WHOLE and int(array.max()) < _WHOLE)
        kind = "i4" if fits else "f8"
    elif array.dtype.kind == "f":
        kind = "f8" if array.dtype.itemsize > 4 else "f4"
    else:
        raise TypeError(f"arrays of {array.dtype} cannot be sent")
    return kind, np.ascontiguousarray(array, _KINDS[kind]).reshape(array.shape)


def json_bytes(value: Any) -> bytes:
    """JSON that any browser reads: NaN and infinity, which it does not know, become null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return text.encode(errors="replace")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
