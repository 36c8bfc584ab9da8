"""Rows of metrics.csv for a chart: those after a position, thinned to so many points.

A position is a text to hand back: the byte where reading ended, and a checksum of the header and of what came
right before. So a file that was replaced by one with more columns, or cut when its run was resumed, is
noticed, and read from its start.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import opened_metrics, parse_row

START = "0"
_POSITION = re.compile(r"(\d{1,15})\.([0-9a-f]{8})")
_BEFORE = 64  # bytes that the checksum takes in
_MOST_READ = 256 << 20  # bytes at once
_AT_ONCE = 500  # lines
_NUMBERS = re.compile(rb"[0-9a-z.+,-]*")  # what metrics.csv is made of


@dataclass(frozen=True, slots=True)
class ChartRows:
    """Columns of equal length; NaN where a row has no value."""

    columns: dict[str, np.ndarray]
    position: str  # to read on from
    from_start: bool  # whether these are the first rows: what was read before is no longer right


def read_position(path: Path) -> str:
    """Where the file ends now."""
    with opened_metrics(path) as file:
        if file is None:
            return START
        header = file.readline()
        file.seek(0, 2)
        return _position(file, header, file.tell())


def read_rows(
    path: Path, since: str = START, names: Sequence[str] | None = None, points: int | None = None
) -> ChartRows:
    """The rows after a position, of the named columns or all; more than `points` are thinned."""
    with opened_metrics(path) as file:
        if file is None:
            return ChartRows({}, START, True)
        header = file.readline()
        if not header.endswith(b"\n"):
            return ChartRows({}, START, True)
        start = _start(file, header, since)
        from_start = start is None
        file.seek(len(header) if start is None else start)
        lines = file.read(_MOST_READ).split(b"\n")
        end = file.tell() - len(lines.pop())  # a line that is not whole yet
        position = _position(file, header, end)
    known = header.decode(errors="replace").rstrip("\r\n").split(",")
    wanted = [name for name in known if names is None or name in names]
    values = _numbers(lines, known, wanted)
    if points is not None and len(values) > points:
        values = thinned(values, points)
    return ChartRows({name: values[:, i] for i, name in enumerate(wanted)}, position, from_start)


def thinned(values: np.ndarray, points: int) -> np.ndarray:
    """[R, C] as at most `points` rows: of each stretch of rows two, with a column's least and greatest value
    in the order in which they came. So no peak is lost."""
    stretches = max(points // 2, 1)
    width = -(-len(values) // stretches)
    padded = np.full((-(-len(values) // width) * width, values.shape[1]), np.nan)
    padded[: len(values)] = values
    blocks = padded.reshape(-1, width, values.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a stretch without any value
        low, high = np.nanmin(blocks, 1), np.nanmax(blocks, 1)
    missing = np.isnan(blocks)
    low_first = np.where(missing, np.inf, blocks).argmin(1) <= np.where(missing, -np.inf, blocks).argmax(1)
    pairs = np.stack([np.where(low_first, low, high), np.where(low_first, high, low)], 1)
    pairs[:, 1][(~missing).sum(1) == 1] = np.nan  # one value is one point
    return pairs.reshape(-1, values.shape[1])


def _numbers(lines: list[bytes], known: list[str], wanted: list[str]) -> np.ndarray:
    """[R, C] of the undamaged lines."""
    places = [known.index(name) for name in wanted]
    parts = [_parsed(lines[i : i + _AT_ONCE], len(known), places) for i in range(0, len(lines), _AT_ONCE)]
    return np.concatenate([np.empty((0, len(wanted))), *parts])


def _parsed(lines: list[bytes], width: int, places: list[int]) -> np.ndarray:
    """Many lines at once, in C; where one of them is damaged, line by line."""
    text = b",".join(line.rstrip(b"\r") for line in lines)
    if _NUMBERS.fullmatch(text) and all(line.count(b",") == width - 1 for line in lines):
        filled = b"," + text.replace(b",,", b",nan,").replace(b",,", b",nan,") + b","
        filled = filled.replace(b",,", b",nan,")[1:-1]  # an empty cell at the very start or end
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a cell that is not a number ends it
            values = np.fromstring(filled, np.float64, sep=",")
        if values.size == len(lines) * width:
            return values.reshape(len(lines), width)[:, places]
    rows = (parse_row(line + b"\n", width) for line in lines)
    nan = float("nan")
    found = [[float(row[p]) if row[p] else nan for p in places] for row in rows if row is not None]
    return np.array(found, np.float64).reshape(len(found), len(places))


def _start(file: BinaryIO, header: bytes, since: str) -> int | None:
    """The byte to read from; None: from the first row."""
    if since in ("", START):
        return None
    match = _POSITION.fullmatch(since)
    if match is None:
        raise GymnastError(f"{since[:40]!r} is not a position in metrics")
    offset = int(match[1])
    file.seek(0, 2)
    if offset < len(header) or offset > file.tell() or _position(file, header, offset) != since:
        return None
    return offset


def _position(file: BinaryIO, header: bytes, offset: int) -> str:
    begin = max(offset - _BEFORE, 0)
    file.seek(begin)
    return f"{offset}.{zlib.crc32(file.read(offset - begin), zlib.crc32(header)):08x}"
