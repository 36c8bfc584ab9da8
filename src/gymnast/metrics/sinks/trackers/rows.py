"""Rows of metrics on their way to a tracker: a bounded queue, and the form in which they travel.

A row travels as float64 values, with its keys sent once: a fast run has a thousand rows per second, and what
packing them takes is taken from the training.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

CAPACITY = 1000
_WAKE_AT = 100  # entries: the sender need not be woken for each

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Something other than a row: an alert, a video, a checkpoint."""

    message: dict[str, Any]


class BoundedQueue:
    """Holds the last `CAPACITY` entries; the oldest goes when one more arrives, and is counted."""

    def __init__(self) -> None:
        self._entries: deque[Row | Event] = deque(maxlen=CAPACITY)
        self._lock = threading.Lock()
        self._filled = threading.Event()
        self.dropped = 0

    def put(self, entry: Row | Event) -> None:
        with self._lock:
            entries = self._entries
            if len(entries) == CAPACITY:
                self.dropped += 1
            entries.append(entry)
        if len(entries) >= _WAKE_AT:
            self._filled.set()

    def wake(self) -> None:
        self._filled.set()

    def wait(self, seconds: float) -> None:
        """Until many entries are there, someone calls `wake`, or so many seconds are over."""
        self._filled.wait(seconds)
        self._filled.clear()

    def take(self) -> list[Row | Event]:
        """All that is there."""
        with self._lock:
            taken = list(self._entries)
            self._entries.clear()
        return taken

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(slots=True)
class RowPacker:
    """Packs rows; the other side has a `RowReader`."""

    _layouts: dict[tuple[str, ...], int] = field(default_factory=dict)

    def packed(self, entries: list[Row | Event]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Messages with the bytes beside them, in the order of the entries."""
        group: list[array[float]] = []
        layout = -1
        for entry in entries:
            if isinstance(entry, Event):
                if group:
                    yield {"rows": layout}, b"".join(group)
                    group = []
                yield entry.message, b""
                continue
            row = entry
            try:
                values = array("d", row.values())
            except TypeError:  # a metric that this update does not have
                row = {key: value for key, value in row.items() if value is not None}
                values = array("d", row.values())
            keys = tuple(row)
            known = self._layouts.get(keys)
            if known != layout and group:
                yield {"rows": layout}, b"".join(group)
                group = []
            if known is None:
                known = self._layouts[keys] = len(self._layouts)
                whole = [isinstance(value, Integral) for value in row.values()]
                yield {"layout": list(keys), "whole": whole}, b""
            layout = known
            group.append(values)
        if group:
            yield {"rows": layout}, b"".join(group)


class RowReader:
    """Rows from what a `RowPacker` made, as plain numbers."""

    def __init__(self) -> None:
        self._layouts: list[tuple[list[str], list[bool]]] = []

    def add_layout(self, message: Mapping[str, Any]) -> None:
        self._layouts.append((message["layout"], message["whole"]))

    def rows(self, layout: int, data: bytes) -> Iterator[dict[str, float | int]]:
        keys, whole = self._layouts[layout]
        values = array("d")
        values.frombytes(data)
        for start in range(0, len(values), len(keys)):
            row = values[start : start + len(keys)]
            yield {
                key: int(value) if is_whole and value.is_integer() else value
                for key, is_whole, value in zip(keys, whole, row, strict=True)
            }
