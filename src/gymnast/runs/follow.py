"""Reading a metrics.csv that is still being written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from gymnast.metrics.csv_file import Number, parse_cell, parse_row

_UPDATES = "time/updates"


class MetricsFollower:
    """Hands out each row once. The file may grow, be replaced by one with more columns, or, when the run is
    resumed from an earlier checkpoint, lose its last rows, whose updates then come again."""

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._header: list[str] = []
        self._half = b""  # a line whose end has not been written yet
        self._last_update = 0
        if not from_start:
            rows = self._read()
            if rows:  # a watcher begins with the last of them
                self._last_update = int(rows[-1][_UPDATES]) - 1
                self._close()

    def new_rows(self) -> list[dict[str, Number]]:
        """The rows that were written since the last call."""
        if self._file is not None and self._was_cut():
            self._close()
            self._last_update = 0
            self._last_update = max((int(row[_UPDATES]) for row in self._read()), default=0)
        rows = [row for row in self._read() if row[_UPDATES] > self._last_update]
        if self._was_replaced():  # what the old file still had has just been read
            self._last_update = int(rows[-1][_UPDATES]) if rows else self._last_update
            self._close()
            rows += [row for row in self._read() if row[_UPDATES] > self._last_update]
        if rows:
            self._last_update = int(rows[-1][_UPDATES])
        return rows

    def _read(self) -> list[dict[str, Number]]:
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return []
        lines = (self._half + self._file.read()).split(b"\n")
        self._half = lines.pop()
        if lines and not self._header:
            self._header = lines.pop(0).decode(errors="replace").rstrip("\r").split(",")
        cells = (parse_row(line + b"\n", len(self._header)) for line in lines)
        rows = (
            {key: parse_cell(cell) for key, cell in zip(self._header, row, strict=True) if cell}
            for row in cells
            if row is not None  # damaged
        )
        return [row for row in rows if _UPDATES in row]

    def _was_cut(self) -> bool:
        assert self._file is not None
        return os.fstat(self._file.fileno()).st_size < self._file.tell()

    def _was_replaced(self) -> bool:
        if self._file is None:
            return False
        try:
            return self._path.stat().st_ino != os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._header, self._half = None, [], b""
