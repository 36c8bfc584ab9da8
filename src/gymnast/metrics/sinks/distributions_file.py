"""distributions.bin: how actions, rewards, values … were distributed, one record per observed update.

A file is one section after the other. A section is a line of JSON (names and shapes of the arrays, labels of
their components) and then records of one size: a mark, a checksum, the counters, all arrays as float32. So a
half-written record is known by its size, a damaged one by its checksum, and neither costs the others.
A run that is resumed with other arrays (another number of actions …) begins a new section.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gymnast.errors import GymnastError
from gymnast.metrics.sinks.sink import Sink
from gymnast.runs.files import append_handle, open_read, open_update, parse_json, set_file_aside, write_failed

if TYPE_CHECKING:
    from gymnast.training.report import Report

QUANTILES = tuple(index / 20 for index in range(21))  # from the least to the greatest
MOST_DISTRIBUTIONS = 256 << 20
_MOST_HEADER = 1 << 18
_MOST_NUMBERS = 1 << 16  # of a record
_KIND = "gymnast distributions 1"
_MARK = b"OBS1"
_HEAD = struct.Struct("<4sIqq")  # mark, checksum of what follows, env_steps, updates
_UNCHECKED = 8  # bytes, of mark and checksum


class Snapshot(Mapping[str, np.ndarray]):
    """The distributions of one observed update: float32 arrays by name, the same names and shapes all along.

    `count`, `probability`, `mean`, `std`, `min` and `max` are arrays over actions or components, which
    `labels` names; `action/quantiles` is [K, 21]; `reward`, `return`, `advantage`, `value` and `target` are
    21 quantiles from the least to the greatest.
    """

    def __init__(
        self, arrays: Mapping[str, np.ndarray], labels: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._arrays = arrays
        self.labels = labels or {}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


@dataclass(frozen=True, slots=True)
class Section:
    """Records of one kind, as they lie in the file."""

    shapes: dict[str, tuple[int, ...]]
    labels: dict[str, tuple[str, ...]]
    header: bytes
    counters: list[tuple[int, int]] = field(default_factory=list)  # env_steps and updates of each record
    numbers: list[bytes] = field(default_factory=list)  # of each record

    @property
    def record_size(self) -> int:
        return _HEAD.size + 4 * sum(prod(shape) for shape in self.shapes.values())


class DistributionsFile(Sink):
    """Writes each snapshot; a run that has none writes nothing."""

    essential = True  # what it cannot write, metrics.csv cannot either

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        self._header = b""  # of the section that the file ends with

    def take(self, report: Report) -> None:
        snapshot = report.distributions
        if snapshot is None:
            return
        header, record = _header(snapshot), _record(snapshot, report.env_steps, report.updates)
        if self._handle is None:
            self._header = _mend(self.path)
            try:
                self._handle = append_handle(self.path)
            except OSError as error:
                raise write_failed(self.path, error) from error
        if header != self._header:
            record, self._header = header + record, header
        self._append(self._handle, record)

    def _append(self, handle: int, data: bytes) -> None:
        size = os.fstat(handle).st_size
        try:
            written = os.write(handle, data)
            while written < len(data):  # the next write raises with the reason
                written += os.write(handle, data[written:])
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(handle, size)  # no half record stays behind
            raise write_failed(self.path, error) from error

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def truncate_after(path: Path, updates: int) -> None:
    """Drop the records of later updates, for a run that continues from an older checkpoint."""
    try:
        with open_update(path, MOST_DISTRIBUTIONS) as file:
            end = 0
            for place, _, record in _records(file):
                if record is not None and _HEAD.unpack_from(record)[3] > updates:
                    break
                end = place
            file.truncate(end)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_failed(path, error) from error


def read_sections(path: Path) -> list[Section]:
    """All that can be read, in order; damaged records are left out, with a warning."""
    sections: list[Section] = []
    damaged = 0
    try:
        with open_read(path, MOST_DISTRIBUTIONS) as file:
            for _, section, record in _records(file):
                if record is None:
                    damaged += 1
                    continue
                if not sections or sections[-1] is not section:
                    sections.append(section)
                _, _, env_steps, updates = _HEAD.unpack_from(record)
                section.counters.append((env_steps, updates))
                section.numbers.append(record[_HEAD.size :])
    except FileNotFoundError:
        return []
    except OSError as error:
        raise GymnastError(f"{path} cannot be read: {error.strerror or error}") from error
    if damaged:
        logging.getLogger("gymnast").warning("%s: %s damaged and left out", path, _counted(damaged))
    return sections


def _records(file: BinaryIO) -> Iterator[tuple[int, Section, bytes | None]]:
    """Each whole record: where it ends, its section, and its bytes, or None if they are damaged."""
    section: Section | None = None
    at = 0
    while first := file.read(1):
        file.seek(at)
        if first == b"{" and (begun := _section(line := file.readline(_MOST_HEADER))) is not None:
            section, at = begun, at + len(line)
            continue
        if section is None:
            return
        file.seek(at)
        record = file.read(section.record_size)
        if len(record) < section.record_size:
            return  # the process was killed while it wrote this one
        at += len(record)
        mark, checksum, *_ = _HEAD.unpack_from(record)
        intact = mark == _MARK and zlib.crc32(record[_UNCHECKED:]) == checksum
        yield at, section, record if intact else None


def _header(snapshot: Snapshot) -> bytes:
    arrays = {name: list(array.shape) for name, array in snapshot.items()}
    labels = {name: list(names) for name, names in snapshot.labels.items()}
    return json.dumps({"kind": _KIND, "arrays": arrays, "labels": labels}).encode() + b"\n"


def _record(snapshot: Snapshot, env_steps: int, updates: int) -> bytes:
    numbers = b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in snapshot.values())
    unchecked = _HEAD.pack(_MARK, 0, env_steps, updates) + numbers
    checksum = zlib.crc32(unchecked[_UNCHECKED:])
    return _HEAD.pack(_MARK, checksum, env_steps, updates) + numbers


def _section(line: bytes) -> Section | None:
    """The section that a line of JSON begins; None if it is none, or makes no sense."""
    try:
        found: Any = parse_json(line) if line.endswith(b"\n") else None
        if not isinstance(found, dict) or found["kind"] != _KIND:
            return None
        shapes = {name: tuple(shape) for name, shape in found["arrays"].items()}
        labels = {name: tuple(map(str, names)) for name, names in found["labels"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    sizes = [size for shape in shapes.values() for size in shape]
    if any(type(size) is not int or not 0 < size <= _MOST_NUMBERS for size in sizes):
        return None
    section = Section(shapes, labels, line)
    return section if section.record_size <= 4 * _MOST_NUMBERS else None


def _mend(path: Path) -> bytes:
    """Drop a half record at the end; the header of the section that can be continued, or nothing.

    A file of which nothing can be read is kept under another name.
    """
    try:
        with open_update(path, MOST_DISTRIBUTIONS) as file:
            end, header = 0, b""
            for place, section, _ in _records(file):
                end, header = place, section.header
            size = file.seek(0, os.SEEK_END)
            if end:
                file.truncate(end)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise write_failed(path, error) from error
    if not end and size:
        aside = set_file_aside(path)
        name = path.name if aside is None else aside.name
        logging.getLogger("gymnast").warning(
            "%s cannot be read; a new one begins, the old is now %s", path, name
        )
    return header


def _counted(records: int) -> str:
    return "1 record is" if records == 1 else f"{records:,} records are"
