"""The one message format between our processes: two lengths, JSON, and bytes beside it (packed arrays).

Nothing is pickled: what arrives is data, whoever sent it.
"""

from __future__ import annotations

import json
import os
import select
import struct
from collections.abc import Iterator
from typing import Any

_LENGTHS = struct.Struct("<QQ")  # of the JSON text, of the attached bytes


def encode(message: Any, attached: bytes = b"") -> bytes:
    """One message as it travels."""
    text = json.dumps(message).encode()
    return b"".join((_LENGTHS.pack(len(text), len(attached)), text, attached))


def send(fd: int, message: Any, attached: bytes = b"") -> None:
    """Write one message; BrokenPipeError if the other side is gone."""
    data = memoryview(encode(message, attached))
    while data:
        data = data[os.write(fd, data) :]


def receive(fd: int) -> Any:
    """Read one message; EOFError if the other side is gone."""
    return receive_attached(fd)[0]


def receive_attached(fd: int) -> tuple[Any, bytes]:
    """Read one message and the bytes beside it."""
    text, attached = _LENGTHS.unpack(_read_exactly(fd, _LENGTHS.size))
    return json.loads(_read_exactly(fd, text)), _read_exactly(fd, attached)


def decode(data: bytes) -> Iterator[Any]:
    """The messages in what a process wrote; one that was cut off is left out."""
    start = 0
    while start + _LENGTHS.size <= len(data):
        text, attached = _LENGTHS.unpack_from(data, start)
        start += _LENGTHS.size
        if start + text + attached > len(data):
            return
        yield json.loads(data[start : start + text])
        start += text + attached


def has_arrived(fd: int, seconds: float | None = 0.0) -> bool:
    """Whether something can be read, or the other side is gone, within so many seconds (None: ever)."""
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(None if seconds is None else seconds * 1000))


def _read_exactly(fd: int, size: int) -> bytes:
    chunks = []
    while size:
        chunk = os.read(fd, min(size, 1 << 20))
        if not chunk:
            raise EOFError
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
