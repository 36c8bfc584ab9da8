"""Reading CSV files of any library: numbers and empty cells; whatever else is in them is left out."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from gymnast.errors import GymnastError
from gymnast.runs.files import open_users_file

MOST_BYTES = 1 << 30
_MOST_LINE = 1 << 20
_MOST_COLUMNS = 5_000


@dataclass(slots=True)
class Table:
    """Rows without their empty cells."""

    columns: list[str]
    rows: list[dict[str, float]] = field(default_factory=list)
    damaged: int = 0  # rows left out
    cut_off: bool = False  # the last line has no end, and was left out


def read_table(path: Path) -> Table:
    """A CSV file with a header; raises GymnastError where it is something else."""
    with open_users_file(path, MOST_BYTES) as file:
        head = file.readline(_MOST_LINE)
        if not head:
            raise GymnastError(f"{path} is empty: nothing was recorded yet")
        if b"\0" in head or not head.endswith(b"\n"):
            raise GymnastError(f"{path} is neither a CSV file with a header nor a TensorBoard event file")
        table = Table(_cells(head))
        if len(table.columns) > _MOST_COLUMNS:
            raise GymnastError(
                f"{path} has {len(table.columns):,} columns; at most {_MOST_COLUMNS:,} are read"
            )
        for line in _lines(file, table):
            cells = _cells(line)
            row = _row(table.columns, cells) if len(cells) == len(table.columns) else None
            if row is None:
                table.damaged += 1
            elif row:
                table.rows.append(row)
    return table


def _lines(file: BinaryIO, table: Table) -> Iterator[bytes]:
    while line := file.readline(_MOST_LINE):
        if not line.endswith(b"\n"):
            table.cut_off = True  # written just now, or when the process was killed
            return
        if line.strip():
            yield line


def _cells(line: bytes) -> list[str]:
    text = line.decode("utf-8-sig", errors="replace").rstrip("\r\n")
    return next(csv.reader([text]), []) if '"' in text else text.split(",")


def _row(columns: list[str], cells: list[str]) -> dict[str, float] | None:
    """Its numbers; None if no cell is one, though some are filled."""
    row, filled = {}, False
    for name, cell in zip(columns, cells, strict=True):
        if cell:
            filled = True
            try:
                row[name] = int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 18 else float(cell)
            except ValueError:
                continue  # a text: some libraries log those too
    return row if row or not filled else None
