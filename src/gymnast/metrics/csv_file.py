"""Reading metrics.csv: numbers only, empty cells are missing values, no pandas."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gymnast.errors import GymnastError
from gymnast.runs.files import MOST_METRICS, open_read

Number = int | float


def format_cell(value: object) -> str:
    """A number as text that reads back to the very same number; None is an empty cell."""
    if value is None:
        return ""
    kind = type(value)
    if kind is float or kind is int:
        return repr(value)
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (int, np.integer)):
        return repr(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return format_cell(value[()])
    raise GymnastError(f"a metric is a number, not {kind.__name__}")


def parse_cell(cell: str) -> Number:
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def read_header(path: Path) -> list[str]:
    """The columns; none if there is no file or no whole first line."""
    with opened_metrics(path) as file:
        line = b"" if file is None else file.readline()
    return _cells(line) if line.endswith(b"\n") else []


def read_metrics(path: Path) -> list[dict[str, Number]]:
    """One dict per row, without its empty cells. A half-written last line is left out, as is any row that is
    damaged, with a warning."""
    return list(iterate_metrics(path))


def iterate_metrics(path: Path) -> Iterator[dict[str, Number]]:
    """The same one by one: a long run's need not fit into memory."""
    header = read_header(path)
    for cells in _rows(path, len(header)):
        yield {key: parse_cell(cell) for key, cell in zip(header, cells, strict=True) if cell}


def read_columns(path: Path, keys: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Columns as float64 arrays with NaN where a cell is empty; a column the file lacks is all NaN."""
    header = read_header(path)
    wanted = list(header if keys is None else keys)
    places = [header.index(key) if key in header else None for key in wanted]
    columns: list[list[float]] = [[] for _ in wanted]
    for cells in _rows(path, len(header)):
        for column, place in zip(columns, places, strict=True):
            cell = "" if place is None else cells[place]
            column.append(float(cell) if cell else float("nan"))
    return {key: np.array(column, dtype=np.float64) for key, column in zip(wanted, columns, strict=True)}


def iter_rows(path: Path) -> Iterator[list[str]]:
    """The cells of each whole and undamaged row, one row at a time."""
    return _rows(path, len(read_header(path)))


def parse_row(line: bytes, width: int) -> list[str] | None:
    """The cells of a whole line; None if it is damaged: too few or too many, or one that is not a number."""
    if _NUMBERS.fullmatch(line) is None:
        return None
    cells = _cells(line)
    if len(cells) != width:
        return None
    try:
        for cell in cells:
            if cell:
                float(cell)
    except (ValueError, OverflowError):
        return None
    return cells


# What `format_cell` writes; without this a flipped byte such as "1_0" or "１" would read as a number.
_NUMBERS = re.compile(rb"[0-9a-z.+,-]*\r?\n")


def _rows(path: Path, width: int) -> Iterator[list[str]]:
    if not width:
        return
    damaged = 0
    with opened_metrics(path) as file:
        if file is None:
            return
        file.readline()
        for line in file:
            if not line.endswith(b"\n"):
                break  # the process was killed while it wrote this one
            if (cells := parse_row(line, width)) is None:
                damaged += 1
            else:
                yield cells
    if damaged:
        _report_damage(path, damaged)


@lru_cache(maxsize=256)
def _report_damage(path: Path, rows: int) -> None:
    """Once per file: a command reads it several times."""
    logging.getLogger("gymnast").warning("%s: %s damaged and left out", path, counted(rows))


def counted(rows: int) -> str:
    return "1 row is" if rows == 1 else f"{rows:,} rows are"


@contextmanager
def opened_metrics(path: Path) -> Iterator[BinaryIO | None]:
    """The file to read; None if there is none."""
    try:
        with open_read(path, MOST_METRICS) as file:
            yield file
    except FileNotFoundError:
        yield None
    except OSError as error:
        raise GymnastError(f"{path} cannot be read: {error.strerror or error}") from error


def _cells(line: bytes) -> list[str]:
    return line.decode(errors="replace").rstrip("\r\n").split(",")
