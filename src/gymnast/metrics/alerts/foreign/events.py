"""Scalars of a TensorBoard event file, without TensorBoard: TFRecords that hold Event messages.

The file may come from anybody: sizes are capped, checksums are checked, and a cut-off end is left out. Only
the few fields that hold scalars (and the texts that CleanRL keeps its arguments in) are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from gymnast.errors import GymnastError
from gymnast.runs.files import open_users_file

MOST_BYTES = 2 << 30  # of a file
_MOST_RECORD = 1 << 16  # larger ones are pictures, sounds or histograms
_MOST_SCALARS = 3_000_000
_MOST_TAGS = 2_000
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(slots=True)
class Events:
    """What an event file holds: (step, tag, value) in the file's order."""

    scalars: list[tuple[int, str, float]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # the first of each tag
    damaged: int = 0  # records with a wrong checksum, or that cannot be read
    cut_off: bool = False  # the end is missing, or could not be found behind damage


def is_event_file(path: Path) -> bool:
    """By its first record's checksum: names tell little."""
    try:
        with open_users_file(path, MOST_BYTES) as file:
            head = file.read(12)
    except (OSError, GymnastError):
        return False
    return len(head) == 12 and _masked_crc(head[:8]) == struct.unpack("<I", head[8:])[0]


def read_events(path: Path, into: Events | None = None) -> Events:
    """All scalars of a file, after those of earlier ones."""
    events = Events() if into is None else into
    tags = {tag for _, tag, _ in events.scalars}
    with open_users_file(path, MOST_BYTES) as file:
        for record in _records(file, events):
            try:
                for step, tag, value in _values(record):
                    if len(tags) < _MOST_TAGS:
                        tags.add(tag)
                    if tag not in tags:
                        continue
                    if isinstance(value, str):
                        events.texts.setdefault(tag, value)
                    else:
                        events.scalars.append((step, tag, value))
            except (ValueError, IndexError, struct.error):
                events.damaged += 1
            if len(events.scalars) > _MOST_SCALARS:
                raise GymnastError(f"{path} holds more than {_MOST_SCALARS:,} scalars; give a shorter file")
    return events


def _records(file: BinaryIO, events: Events) -> Iterator[bytes]:
    """The contents of whole records; what comes after a damaged length cannot be found any more."""
    while head := file.read(12):
        length = int.from_bytes(head[:8], "little")
        if len(head) < 12 or _masked_crc(head[:8]) != int.from_bytes(head[8:], "little"):
            events.cut_off = True
            return
        if length > _MOST_RECORD:
            file.seek(length + 4, 1)
            continue
        body = file.read(length + 4)
        if len(body) < length + 4:
            events.cut_off = True
            return
        if _masked_crc(body[:-4]) == int.from_bytes(body[-4:], "little"):
            yield body[:-4]
        else:
            events.damaged += 1


def _values(record: bytes) -> Iterator[tuple[int, str, float | str]]:
    """Event: step = 2, summary = 5. Summary: value = 1. Value: tag = 1, simple_value = 2, tensor = 8."""
    step, summaries = 0, []
    for number, value in _fields(record):
        if number == 2 and isinstance(value, int):
            step = value if value < 1 << 63 else 0
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, item in _fields(summary):
            if number != 1 or not isinstance(item, bytes):
                continue
            tag = ""
            found: float | str | None = None
            for inner, value in _fields(item):
                if inner == 1 and isinstance(value, bytes):
                    tag = value[:200].decode(errors="replace")
                elif inner == 2 and isinstance(value, float):
                    found = value
                elif inner == 8 and isinstance(value, bytes):
                    found = _tensor(value)
            if tag and found is not None:
                yield step, tag, found


def _tensor(data: bytes) -> float | str | None:
    """A scalar or a text. TensorProto: dtype = 1, content = 4, float_val = 5, string_val = 8."""
    kind = 0
    for number, value in _fields(data):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 5 and isinstance(value, float):
            return value
        elif isinstance(value, bytes) and kind == 1 and number in (4, 5) and len(value) == 4:
            return float(struct.unpack("<f", value)[0])
        elif number == 8 and isinstance(value, bytes):
            return value.decode(errors="replace")
    return None


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Number and value of each field of a protobuf message; 32-bit ones are read as floats."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            whole, at = _varint(data, at)
            yield number, whole
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _BYTES:
            size, at = _varint(data, at)
        if size is None or at + size > len(data):
            raise ValueError("not a protobuf message")
        chunk, at = data[at : at + size], at + size
        yield number, float(struct.unpack("<f", chunk)[0]) if kind == _FIXED32 else chunk


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("not a protobuf message")


def _crc_table() -> list[int]:
    """Of CRC-32C (Castagnoli), which Python's libraries lack."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    """As TFRecord stores it."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
