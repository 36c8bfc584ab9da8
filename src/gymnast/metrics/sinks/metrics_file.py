"""metrics.csv: one row per update, append-only, with every counter in every row."""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from gymnast.errors import GymnastError
from gymnast.metrics import catalogue
from gymnast.metrics.csv_file import counted, format_cell, parse_row, read_header
from gymnast.metrics.sinks.sink import Sink
from gymnast.runs.files import (
    MOST_METRICS,
    append_handle,
    fsync_folder,
    open_new,
    open_read,
    open_update,
    remove,
    set_file_aside,
    write_failed,
)

if TYPE_CHECKING:
    from gymnast.training.report import Report

Value = float | int | bool | None
_UPDATES = "time/updates"


class Recorder(Sink):
    """Writes rows to one file. Columns are in the catalogue's order, counters first; a key that the header
    lacks widens it, which rewrites the file once for each set of new keys."""

    essential = True  # a run whose metrics cannot be written must not continue

    def __init__(self, path: Path, columns: Iterable[str] = ()) -> None:
        self.path = path
        self._handle: int | None = None
        self._size = 0
        self._columns: list[str] = []
        self._place: dict[str, int] = {}
        _drop_half_line(path)
        _mend(path)
        self._set_columns([*catalogue.COUNTERS, *columns, *read_header(path)])

    def write(self, row: Mapping[str, Value]) -> None:
        """Append a row and hand it to the operating system; a killed process loses nothing of it."""
        place = self._place
        if any(key not in place for key in row):
            self._set_columns([*self._columns, *row])
            place = self._place
        cells = [""] * len(self._columns)
        for key, value in row.items():
            cells[place[key]] = format_cell(value)
        if "" in cells[: len(catalogue.COUNTERS)]:
            missing = [key for key in catalogue.COUNTERS if row.get(key) is None]
            raise GymnastError(f"a metrics row needs every counter; it lacks {', '.join(missing)}")
        self._append((",".join(cells) + "\n").encode())

    def take(self, report: Report) -> None:
        self.write(report.row)

    def sync(self) -> None:
        """Make all rows survive a power cut."""
        if self._handle is not None:
            os.fsync(self._handle)

    def truncate_after(self, updates: int) -> None:
        """Drop the rows of later updates, for a run that continues from an older checkpoint."""
        self.close()
        header = read_header(self.path)
        if not header:
            return
        place = header.index(_UPDATES)
        # Cutting the end off needs no second file: it either happened or it did not.
        with open_update(self.path, MOST_METRICS) as file:
            end = len(file.readline())
            for line in file:
                cells = line.split(b",")
                if int(cells[place]) > updates:
                    break
                end += len(line)
            file.truncate(end)
            os.fsync(file.fileno())

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        try:
            if self._handle is None:
                self._handle = append_handle(self.path)
                self._size = os.fstat(self._handle).st_size
                if self._size == 0:
                    line = (",".join(self._columns) + "\n").encode() + line
            written = os.write(self._handle, line)
            while written < len(line):  # the next write raises with the reason
                written += os.write(self._handle, line[written:])
            self._size += len(line)
        except OSError as error:
            if self._handle is not None:
                with suppress(OSError):
                    os.ftruncate(self._handle, self._size)  # no half row stays behind
            raise write_failed(self.path, error) from error

    def _set_columns(self, keys: Iterable[str]) -> None:
        """Check `keys` against the catalogue, and bring header and file to them."""
        before = read_header(self.path)
        # A column of a hook that this run no longer has keeps its place in the file, at the end.
        known = [key for key in dict.fromkeys(keys) if key not in before or catalogue.is_declared(key)]
        columns = sorted(known, key=catalogue.order) + [key for key in before if key not in known]
        if columns == self._columns:
            return
        self.close()
        if before and before != columns:
            self._rewrite(before, columns)
        self._columns = columns
        self._place = {key: place for place, key in enumerate(columns)}

    def _rewrite(self, before: list[str], columns: list[str]) -> None:
        places = [before.index(key) if key in before else None for key in columns]

        def widened() -> Iterator[bytes]:
            yield (",".join(columns) + "\n").encode()
            with open_read(self.path, MOST_METRICS) as old:
                old.readline()
                for line in old:
                    cells = line.decode().rstrip("\n").split(",")
                    yield (
                        ",".join("" if place is None else cells[place] for place in places) + "\n"
                    ).encode()

        _replace(self.path, widened())


def _replace(path: Path, lines: Iterable[bytes], *, set_aside: bool = False) -> Path | None:
    """Write a file again, line by line: a long run's need not fit into memory. The old one can be set aside;
    its new path then."""
    tmp = path.with_name(f".{path.name}.tmp")
    try:
        with open_new(tmp) as new:
            new.writelines(lines)
            new.flush()
            os.fsync(new.fileno())
        aside = set_file_aside(path) if set_aside else None
        tmp.replace(path)
        fsync_folder(path.parent)
    except OSError as error:
        with suppress(GymnastError):
            remove(tmp)
        raise write_failed(path, error) from error
    return aside


def _mend(path: Path) -> None:
    """Drop damaged rows, with a warning; the file as it was is kept under another name."""
    before = read_header(path)
    if not before:
        return
    header = _mended_header(before)
    place = header.index(_UPDATES) if _UPDATES in header else None
    updates = [_updates(line, len(header), place) for line in _lines(path)]
    kept = increasing(updates)
    lost = len(updates) - len(kept)
    if not lost and header == before and "\ufffd" not in "".join(header):
        return
    rows = (line for number, line in enumerate(_lines(path)) if number in kept)
    aside = _replace(path, chain([(",".join(header) + "\n").encode()], rows), set_aside=True)
    logging.getLogger("gymnast").warning(
        "%s: %s; what can be read is kept, and the old file is now %s",
        path,
        f"{counted(lost)} damaged" if lost else "its header is damaged",
        path.name if aside is None else aside.name,
    )


def _mended_header(header: list[str]) -> list[str]:
    """Counters are the first columns of every file, so a damaged one is known by its place."""
    known = list(header)
    for place, counter in enumerate(catalogue.COUNTERS[: len(known)]):
        if counter not in known and not catalogue.is_declared(known[place]):
            known[place] = counter
    return known


def _lines(path: Path) -> Iterator[bytes]:
    with open_read(path, MOST_METRICS) as file:
        file.readline()
        yield from file


def _updates(line: bytes, width: int, place: int | None) -> int | None:
    """Of a row, the update that it is of; None if it is damaged."""
    cells = parse_row(line, width)
    return int(cells[place]) if cells is not None and place is not None and cells[place].isdigit() else None


def increasing(numbers: Sequence[int | None]) -> set[int]:
    """The places of the longest part that increases: updates count up, so what does not fit is damaged."""
    ends: list[int] = []  # the least last number of an increasing part of each length …
    places: list[int] = []  # … and its place
    before: dict[int, int | None] = {}
    for place, number in enumerate(numbers):
        if number is None:
            continue
        length = bisect_left(ends, number)
        before[place] = places[length - 1] if length else None
        ends[length : length + 1], places[length : length + 1] = [number], [place]
    kept: set[int] = set()
    at = places[-1] if places else None
    while at is not None:
        kept.add(at)
        at = before[at]
    return kept


def _drop_half_line(path: Path) -> None:
    """A process killed within a write may leave a line without its end."""
    try:
        file = open_update(path, MOST_METRICS)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_failed(path, error) from error
    with file:
        end = file.seek(0, os.SEEK_END)
        size = end
        tail = b""
        while end > 0 and b"\n" not in tail:
            start = max(0, end - 65536)
            file.seek(start)
            tail = file.read(end - start)
            end = start
        whole = end + tail.rfind(b"\n") + 1
        if whole != size:
            file.truncate(whole)
