"""Reading metrics.csv: numbers only, empty cells are missing values, no pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

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
    try:
        with open_read(path, MOST_METRICS) as file:
            line = file.readline()
    except FileNotFoundError:
        return []
    return line.decode().rstrip("\r\n").split(",") if line.endswith(b"\n") else []


def read_metrics(path: Path) -> list[dict[str, Number]]:
    """One dict per row, without its empty cells. A half-written last line is left out."""
    header = read_header(path)
    return [
        {key: parse_cell(cell) for key, cell in zip(header, cells, strict=True) if cell}
        for cells in _rows(path, len(header))
    ]


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


def _rows(path: Path, width: int) -> Iterator[list[str]]:
    if not width:
        return
    with open_read(path, MOST_METRICS) as file:
        file.readline()
        for number, line in enumerate(file, start=2):
            if not line.endswith(b"\n"):
                return  # the process was killed while it wrote this one
            cells = line.decode().rstrip("\r\n").split(",")
            if len(cells) != width:
                raise GymnastError(f"{path} line {number} has {len(cells)} cells, the header has {width}")
            yield cells
