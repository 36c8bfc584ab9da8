"""Where a run stands right now, at a cost that does not grow with its length."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.csv_file import Number, parse_cell, parse_row, read_header
from gymnast.runs import alerts, summary
from gymnast.runs.files import MOST_METRICS, open_read
from gymnast.runs.store import RunFolder

_TAIL_BYTES = 64 << 10  # a row has about 1 kB


def last_metrics(
    run: str | Path | Run | RunFolder = "@last", *, runs_dir: str | Path | None = None
) -> dict[str, Number]:
    """For each metric its last value among the last rows; empty before the first row."""
    path = folder_of(run, runs_dir).metrics_path
    header = read_header(path)
    if not header:
        return {}
    try:
        with open_read(path, MOST_METRICS) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError as error:
        raise GymnastError(f"{path} cannot be read: {error.strerror or error}") from error
    found: dict[str, Number] = {}
    for line in lines[1:-1]:  # the first may be a piece of a row or the header, the last a row being written
        cells = parse_row(line + b"\n", len(header))
        for key, cell in zip(header, cells or (), strict=False):
            if cell:
                found[key] = parse_cell(cell)
    return found


def current_alerts(
    run: str | Path | Run | RunFolder = "@last", *, runs_dir: str | Path | None = None
) -> list[Alert]:
    """What the run has found of its health so far, by id."""
    return alerts.read_alerts(folder_of(run, runs_dir))


def run_settings(
    run: str | Path | Run | RunFolder = "@last", *, runs_dir: str | Path | None = None
) -> dict[str, Any]:
    """The settings of a run by dotted key, without secrets; nothing is imported."""
    return summary.settings_of(folder_of(run, runs_dir))
