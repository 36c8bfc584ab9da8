"""A run's metrics as one file for other programs: CSV, or Parquet with its columns typed."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from gymnast.errors import GymnastError, MissingExtra, did_you_mean
from gymnast.metrics.csv_file import format_cell, read_header, read_metrics
from gymnast.runs.files import named_file, open_new, remove, write_failed
from gymnast.runs.store import RunFolder

Format = Literal["csv", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)


def export_metrics(run: RunFolder, output: Path | None, form: str | None, *, force: bool) -> tuple[Path, int]:
    """Write the metrics of a run; the file and its rows. A damaged row is left out, with a warning.

    Without a file it is named after the run, in the working directory; without a format it is that of the
    file's name, or Parquet.
    """
    form = _format(output, form)
    path = Path(f"{run.id}.{form}") if output is None else output
    if path.is_dir():
        path = path / f"{run.id}.{form}"
    if os.path.lexists(path) and not force:
        raise GymnastError(f"{path} exists already; give --force to replace it, or --output FILE")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise MissingExtra("Parquet", "parquet")
    rows = read_metrics(run.metrics_path)
    columns = read_header(run.metrics_path)
    if not rows:
        raise GymnastError(f"run {run.id} has no metrics: a row is written after each update")
    path = named_file(path)
    tmp = path.with_name(f".{path.name}.tmp")
    try:
        with open_new(tmp) as file:
            if form == "csv":
                file.write((",".join(columns) + "\n").encode())
                file.writelines(
                    (",".join(format_cell(row.get(key)) for key in columns) + "\n").encode() for row in rows
                )
            else:
                _write_parquet(file, columns, rows)
        tmp.replace(path)
    except OSError as error:
        with suppress(GymnastError):
            remove(tmp)
        raise GymnastError(str(write_failed(path, error))) from error
    return path, len(rows)


def _format(output: Path | None, form: str | None) -> str:
    if form is None:
        ending = "" if output is None or output.is_dir() else output.suffix.removeprefix(".").lower()
        if ending and ending not in FORMATS:
            raise GymnastError(f"{output}: name it .csv or .parquet, or give --format")
        return ending or "parquet"
    if form not in FORMATS:
        raise GymnastError(
            f"no format {form!r}{did_you_mean(form, FORMATS)}; there are {' and '.join(FORMATS)}"
        )
    return form


def _write_parquet(file: Any, columns: list[str], rows: list[dict[str, Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    table = {}
    for key in columns:
        values = [row.get(key) for row in rows]
        whole = all(value is None or isinstance(value, int) for value in values)
        kind = pyarrow.int64() if whole else pyarrow.float64()
        table[key] = pyarrow.array(values if whole else [_float(value) for value in values], kind)
    pyarrow.parquet.write_table(pyarrow.table(table), file)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
