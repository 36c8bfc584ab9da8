"""What travels between a learner and its actors: frames of 16 bytes of header and what follows them.

A frame holds arrays as they lie in memory, or a message in JSON. Nothing is pickled, every length has a
limit, and every read and write a time by which it must be done.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

_HEADER = struct.Struct("<HBxIII")  # mark, kind, number of the command, µs at work, bytes that follow
_MARK = 0x7967  # "gy"
LONGEST_MESSAGE = 256 << 20  # bytes of JSON between two that trust each other: states of envs
LONGEST_ORDER = 16 << 20  # of a config
LONGEST_GREETING = 4 << 10  # of anything before that
_LONGEST_PAUSE = 3600.0  # seconds in one call of poll


class Kind(IntEnum):
    """Kinds of frames that are neither a command nor an answer of `worker_process.py`."""

    MESSAGE, END = 100, 101


class WireError(Exception):
    """The connection cannot be used any more; says why."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a frame says of itself."""

    kind: int
    number: int  # of the command that it is, or answers
    busy: int  # µs that an actor worked for this answer
    length: int


def deadline_in(seconds: float) -> float | None:
    """The moment by which something must be done; None for 0 seconds, which mean no end."""
    return time.monotonic() + seconds if seconds else None


def bytes_of(array: np.ndarray) -> memoryview:
    """The memory of an array that lies in one piece."""
    return array.reshape(-1).view(np.uint8).data


class Wire:
    """One connection: reads and writes whole frames, in time or not at all."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # A machine that is switched off says nothing: noticed within a minute.
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(connection, select.POLLIN)
        self._writable.register(connection, select.POLLOUT)
        self._head = memoryview(bytearray(_HEADER.size))

    def fileno(self) -> int:
        return self._socket.fileno()

    def has_arrived(self, deadline: float | None) -> bool:
        """Whether there is something to read, or nothing will be, before the deadline."""
        return _ready(self._readable, deadline)

    def read_header(self, deadline: float | None, limit: int) -> Header:
        self.read([self._head], deadline)
        mark, kind, number, busy, length = _HEADER.unpack(self._head)
        if mark != _MARK:
            raise WireError("what was sent is not of Gymnast's protocol")
        if length > limit:
            raise WireError(f"a frame of {length:,} bytes was announced; at most {limit:,} are allowed")
        return Header(kind, number, busy, length)

    def read(self, views: Sequence[memoryview], deadline: float | None) -> None:
        """Fill all of them."""
        left = list(views)
        while left:
            try:
                count = self._socket.recvmsg_into(left)[0]
            except BlockingIOError:
                if not _ready(self._readable, deadline):
                    raise WireError("what was sent breaks off") from None
                continue
            except OSError as error:
                raise WireError(f"the connection was lost ({error.strerror or error})") from None
            if not count:
                raise WireError("the connection was closed")
            left = _rest(left, count)

    def write(
        self,
        kind: int,
        views: Sequence[memoryview] = (),
        *,
        number: int = 0,
        busy: int = 0,
        deadline: float | None = None,
    ) -> None:
        """One frame."""
        length = sum(view.nbytes for view in views)
        left = [memoryview(_HEADER.pack(_MARK, kind, number, min(busy, 2**32 - 1), length)), *views]
        while left:
            try:
                count = self._socket.sendmsg(left)
            except BlockingIOError:
                if not _ready(self._writable, deadline):
                    raise WireError("nothing more could be sent") from None
                continue
            except OSError as error:
                raise WireError(f"the connection was lost ({error.strerror or error})") from None
            left = _rest(left, count)

    def write_message(
        self, message: Any, *, kind: int = Kind.MESSAGE, number: int = 0, deadline: float | None = None
    ) -> None:
        self.write(kind, [memoryview(json.dumps(message).encode())], number=number, deadline=deadline)

    def read_message(self, deadline: float | None, limit: int) -> Any:
        header = self.read_header(deadline, limit)
        if header.kind != Kind.MESSAGE:
            raise WireError(f"a message was expected, not a frame of kind {header.kind}")
        return self.read_json(header.length, deadline)

    def read_json(self, length: int, deadline: float | None) -> Any:
        """The text that follows a header."""
        text = bytearray(length)
        if length:
            self.read([memoryview(text)], deadline)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise WireError("a message was not JSON") from None

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()


def _ready(waiting: select.poll, deadline: float | None) -> bool:
    if deadline is None:
        return bool(waiting.poll(None))
    left = min(max(0.0, deadline - time.monotonic()), _LONGEST_PAUSE)
    return bool(waiting.poll(left * 1000))


def _rest(views: list[memoryview], count: int) -> list[memoryview]:
    """What is left of buffers of which so many bytes are done; empty ones are left out."""
    for index, view in enumerate(views):
        if count < view.nbytes:
            return [view[count:], *views[index + 1 :]]
        count -= view.nbytes
    return []
