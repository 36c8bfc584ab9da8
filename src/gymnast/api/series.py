"""Metrics of a run for someone who reads rather than looks: few points, statistics, and a chart as text."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError, did_you_mean, nearest
from gymnast.runs.store import RunFolder

MOST_POINTS = 50
_DEFAULT = ("eval/return/mean", "train/return/mean", "train/kl", "train/entropy", "train/explained_variance")
_LAST_PART = 0.2  # of the rows, for the slope


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """One metric over a stretch of a run. `slope` is the change over its last fifth, by a straight line."""

    key: str
    means: str  # what it is, from the catalogue
    count: int  # values in the stretch
    first: float
    last: float
    mean: float
    std: float
    min: float
    min_at: float
    max: float
    max_at: float
    slope: float | None
    x: tuple[float, ...]  # of the points
    y: tuple[float, ...]  # each the mean of its part of the stretch
    chart: tuple[str, ...]  # lines


def metric_keys(run: str | Path | Run | RunFolder, *, runs_dir: str | Path | None = None) -> list[str]:
    """The metrics that a run has recorded."""
    from gymnast.metrics.csv_file import read_header

    return read_header(folder_of(run, runs_dir).metrics_path)


def match_metrics(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The keys that names mean: a whole key, a pattern with *, a part, words of it in any order, or
    nearly."""
    found: list[str] = []
    for name in names:
        wanted = name.strip().lower()
        lower = {key.lower(): key for key in keys}
        if wanted in lower:
            matches = [lower[wanted]]
        elif "*" in wanted:
            matches = [key for low, key in lower.items() if fnmatch.fnmatchcase(low, wanted)]
        else:
            ends = [key for low, key in lower.items() if low.rpartition("/")[2] == wanted]
            matches = (
                sorted(ends, key=_telling) or _with_words(_words(wanted), keys) or nearest(wanted, keys, 1)
            )
        if not matches:
            some = ", ".join(sorted(keys, key=_telling)[:3])
            raise GymnastError(
                f"no metric {name!r}{_meant(wanted, keys)}; {len(keys)} are recorded, such as {some}"
            )
        found += matches
    return list(dict.fromkeys(found))


def _with_words(words: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The keys with all these words in them, those that tell most first, then the shortest."""
    parts = [key for key in keys if words and all(word in key.lower() for word in words)]
    return sorted(parts, key=_telling)


def _telling(key: str) -> tuple[bool, int]:
    return key not in _DEFAULT, len(key)


def _meant(wanted: str, keys: Sequence[str]) -> str:
    """A hint by whole keys, else by single words of them: 'retrun' is in no key, and near to no whole one."""
    if hint := did_you_mean(wanted, keys):
        return hint
    known = dict.fromkeys(word for key in keys for word in re.split(r"[/_]", key.lower()))
    words = [word if word in known else next(iter(nearest(word, known, 1)), "") for word in _words(wanted)]
    close = _with_words(words, keys)[:3] if all(words) else []
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def _words(name: str) -> list[str]:
    return name.replace("_", " ").replace("/", " ").split()


def read_series(
    run: str | Path | Run | RunFolder,
    names: Sequence[str] = (),
    *,
    x: str = "env_steps",
    start: float | None = None,
    end: float | None = None,
    points: int = 20,
    width: int = 60,
    runs_dir: str | Path | None = None,
) -> list[MetricSeries]:
    """The metrics that `names` mean (the most telling ones if none is given) between two places on the x
    axis."""
    from gymnast.metrics.csv_file import read_columns
    from gymnast.runs.curves import AXES

    if x not in AXES:
        raise GymnastError(f"no x axis {x!r}: {', '.join(AXES)}{did_you_mean(x, AXES)}")
    if not 1 <= points <= MOST_POINTS:
        raise GymnastError(f"points must be between 1 and {MOST_POINTS}, got {points}")
    folder = folder_of(run, runs_dir)
    header = metric_keys(folder)
    if not header:
        raise GymnastError(f"run {folder.id} has no metrics: a row is written after each update")
    keys = match_metrics(names, header) if names else [key for key in _DEFAULT if key in header]
    columns = read_columns(folder.metrics_path, dict.fromkeys((AXES[x], *keys)))
    series = [_series(key, columns[AXES[x]], columns[key], start, end, points, width, x) for key in keys]
    there = [one for one in series if one is not None]
    if not there:
        stretch = f" from {start:g} on" if start is not None else ""
        if end is not None:
            stretch = f" between {start:g} and {end:g}" if start is not None else f" up to {end:g}"
        raise GymnastError(f"{', '.join(keys)}: no values{stretch} in run {folder.id}")
    return there


def _series(
    key: str,
    x: object,
    y: object,
    start: float | None,
    end: float | None,
    points: int,
    width: int,
    axis: str,
) -> MetricSeries | None:
    import numpy as np

    from gymnast.charts.text import text_chart
    from gymnast.metrics.catalogue import UnknownMetric, spec

    places, values = np.asarray(x), np.asarray(y)
    low, high = -math.inf if start is None else start, math.inf if end is None else end
    there = np.isfinite(places) & np.isfinite(values) & (places >= low) & (places <= high)
    if not there.any():
        return None
    places, values = places[there], values[there]
    parts = np.array_split(np.arange(len(values)), min(points, len(values)))
    tail = slice(max(0, math.floor(len(values) * (1 - _LAST_PART))), None)
    at, last = places[tail], values[tail]
    slope = None
    if len(at) > 1 and at[-1] > at[0]:
        slope = float(np.polyfit(at - at[0], last, 1)[0] * (at[-1] - at[0]))
    try:
        means = spec(key).help
    except UnknownMetric:
        means = ""
    lowest, highest = int(values.argmin()), int(values.argmax())
    return MetricSeries(
        key=key,
        means=means,
        count=len(values),
        first=_short(values[0]),
        last=_short(values[-1]),
        mean=_short(values.mean()),
        std=_short(values.std()),
        min=_short(values[lowest]),
        min_at=_short(places[lowest]),
        max=_short(values[highest]),
        max_at=_short(places[highest]),
        slope=None if slope is None else _short(slope),
        x=tuple(_short(places[part[-1]]) for part in parts),
        y=tuple(_short(values[part].mean()) for part in parts),
        chart=tuple(text_chart(places, values, width=width, height=9, title=f"{key} by {axis}").split("\n")),
    )


def _short(value: float) -> float:
    """Six digits: more cost the reader and tell nothing. Counts stay whole."""
    value = float(value)
    return value if value == round(value) and abs(value) < 1e15 else float(f"{value:.6g}")


def metric_rows(run: str | Path | Run | RunFolder, *, runs_dir: str | Path | None = None) -> list[list[str]]:
    """The cells of metrics.csv, its header first; damaged rows are left out."""
    from gymnast.metrics.csv_file import iter_rows

    folder = folder_of(run, runs_dir)
    header = metric_keys(folder)
    return [header, *iter_rows(folder.metrics_path)] if header else []
