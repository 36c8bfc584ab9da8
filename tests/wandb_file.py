"""Reads W&B's offline file: a LevelDB log of protobuf records (wandb has no reader of its own any more)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK, _HEADER = 32768, struct.Struct("<IHB")  # checksum, length, kind
_FULL, _LAST = 1, 4


def records(path: Path) -> Iterator[Any]:
    """The records of a `.wandb` file."""
    from wandb.proto.wandb_internal_pb2 import Record

    data = path.read_bytes()
    assert struct.unpack_from("<4sHB", data) == (b":W&B", 0xBEE1, 0)
    at, whole = 7, b""
    while at < len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER.size:  # the rest of a block that no header fits into
            at += left
            continue
        _, length, kind = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        whole += data[at : at + length]
        at += length
        if kind in (_FULL, _LAST):
            yield Record.FromString(whole)
            whole = b""


def items(changes: Any) -> dict[str, Any]:
    """History, summary or config items as a map."""
    found: dict[str, Any] = {}
    for item in changes:
        *outer, key = item.nested_key or [item.key]
        inside = found
        for name in outer:
            inside = inside.setdefault(name, {})
        inside[key] = json.loads(item.value_json)
    return found


def history(path: Path) -> list[dict[str, Any]]:
    """What was logged, without W&B's own `_step`, `_timestamp` and `_runtime`."""
    rows = [items(record.history.item) for record in records(path) if record.HasField("history")]
    return [{key: value for key, value in row.items() if not key.startswith("_")} for row in rows]


def number(value: Any) -> float:
    """A logged value: JSON has no NaN and no infinity."""
    return float(value)


def wandb_file(run: Path) -> Path:
    """The newest file in a run folder."""
    return max((run / "wandb").glob("*/run-*.wandb"), key=lambda path: path.stat().st_mtime)
