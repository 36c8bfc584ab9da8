"""metrics.csv as a report needs it: curves of a bounded length, sums and extremes of every row.

Long files are read once, row by row; consecutive rows are averaged, so memory does not grow with the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gymnast.metrics.csv_file import iter_rows, read_header

STEPS = "time/env_steps"
SCORE = "eval/return/mean"
SECONDS = "time/seconds"
_OF_ANY_ROW = (STEPS, SECONDS)
MOST_POINTS = 4096  # of a curve
_CHUNK = 1024  # rows handled at a time
_MOST_EVALUATIONS = 100_000
N_BUCKETS = 8
_LAST_PART = 0.2  # of the steps, for the slope


@dataclass(slots=True)
class _Column:
    """What is known of one metric, over all of its rows."""

    first: float = math.nan
    last: float = math.nan
    low: float = math.inf
    high: float = -math.inf
    low_step: float = math.nan
    high_step: float = math.nan
    total: float = 0.0
    count: int = 0

    def add(self, steps: np.ndarray, values: np.ndarray) -> None:
        there = np.flatnonzero(np.isfinite(values))
        if not len(there):
            return
        known = values[there]
        if not self.count:
            self.first = float(known[0])
        self.last = float(known[-1])
        at_low, at_high = int(known.argmin()), int(known.argmax())
        if known[at_low] < self.low:
            self.low, self.low_step = float(known[at_low]), float(steps[there[at_low]])
        if known[at_high] > self.high:
            self.high, self.high_step = float(known[at_high]), float(steps[there[at_high]])
        self.total += float(known.sum())
        self.count += len(known)


@dataclass(frozen=True, slots=True)
class Trend:
    """How one metric went. `slope` is the change over the last fifth of the steps, by a straight line."""

    name: str
    first: float
    last: float
    min: float
    min_step: int
    max: float
    max_step: int
    slope: float | None
    buckets: tuple[float | None, ...]  # means of equal parts of the steps; None where there is no value

    @property
    def constant(self) -> bool:
        return self.min == self.max


@dataclass(slots=True)
class History:
    """All metrics of a run."""

    rows: int = 0
    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [K], of the points of the curves
    curves: dict[str, np.ndarray] = field(default_factory=dict)  # [K] each
    evaluations: list[dict[str, float]] = field(default_factory=list)  # the rows that have a score
    columns: dict[str, _Column] = field(default_factory=dict)

    def total(self, name: str) -> float:
        """The sum over all rows."""
        return self.columns[name].total if name in self.columns else 0.0

    def last(self, name: str) -> float | None:
        column = self.columns.get(name)
        return None if column is None or not column.count else column.last

    def curve(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """(env steps, values) where there are values; None without any."""
        if name not in self.curves:
            return None
        known = np.isfinite(self.curves[name]) & np.isfinite(self.steps)
        return (self.steps[known], self.curves[name][known]) if known.any() else None

    def trend(self, name: str) -> Trend | None:
        """None for a metric without a value."""
        points, column = self.curve(name), self.columns.get(name)
        if points is None or column is None or not column.count:
            return None
        steps, values = points
        return Trend(
            name,
            column.first,
            column.last,
            column.low,
            _step(column.low_step),
            column.high,
            _step(column.high_step),
            self._slope(steps, values),
            self._buckets(steps, values),
        )

    def _span(self) -> tuple[float, float]:
        known = self.steps[np.isfinite(self.steps)]
        return (float(known[0]), float(known[-1])) if len(known) else (0.0, 0.0)

    def _slope(self, steps: np.ndarray, values: np.ndarray) -> float | None:
        begin, end = self._span()
        length = _LAST_PART * (end - begin)
        late = steps >= end - length
        x, y = steps[late], values[late]
        if len(x) < 3 or length <= 0 or x[0] == x[-1]:
            return None
        x = (x - x.mean()) / length
        with np.errstate(all="ignore"):  # values may be as large as floats are
            slope = float((x * (y - y.mean())).sum() / (x * x).sum())
        return slope if math.isfinite(slope) else None

    def _buckets(self, steps: np.ndarray, values: np.ndarray) -> tuple[float | None, ...]:
        begin, end = self._span()
        place = (steps - begin) / max(end - begin, 1e-9) * N_BUCKETS
        place = np.clip(place.astype(np.int64), 0, N_BUCKETS - 1)
        parts = [values[place == bucket] for bucket in range(N_BUCKETS)]
        with np.errstate(all="ignore"):
            means = [float(part.mean()) if len(part) else math.inf for part in parts]
        return tuple(mean if math.isfinite(mean) else None for mean in means)


def read_history(path: Path) -> History:
    """Read a metrics file; what is damaged is left out, and a missing file is an empty history."""
    header = read_header(path)
    history = History(columns={name: _Column() for name in header})
    if not header:
        return history
    size = _rows_per_point(path)
    averaged: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for block in _blocks(path, size * max(1, _CHUNK // size)):
            steps = block[:, header.index(STEPS)] if STEPS in header else history.rows + np.arange(len(block))
            for name, column in zip(header, block.T, strict=True):
                history.columns[name].add(steps, column)
            _keep_evaluations(history, header, block)
            history.rows += len(block)
            averaged.append(block if size == 1 else _averaged(block, size))
    if averaged:
        points = np.concatenate(averaged)
        history.curves = dict(zip(header, points.T, strict=True))
        history.steps = history.curves.get(STEPS, np.arange(len(points), dtype=np.float64))
    return history


def _rows_per_point(path: Path) -> int:
    """From the length of the file and of its first row."""
    first = next(iter_rows(path), None)
    if first is None:
        return 1
    row = sum(map(len, first)) + len(first)
    return max(1, math.ceil(path.lstat().st_size / row / MOST_POINTS))


def _blocks(path: Path, rows: int) -> Iterator[np.ndarray]:
    block: list[list[float]] = []
    for cells in iter_rows(path):
        block.append([float(cell) if cell else math.nan for cell in cells])
        if len(block) == rows:
            yield np.array(block)
            block = []
    if block:
        yield np.array(block)


def _averaged(block: np.ndarray, size: int) -> np.ndarray:
    """Means of `size` rows at a time, without what is missing or not finite."""
    known = np.isfinite(block)
    starts = np.arange(0, len(block), size)
    sums = np.add.reduceat(np.where(known, block, 0.0), starts)
    return np.asarray(sums / np.add.reduceat(known.astype(np.float64), starts))


def _keep_evaluations(history: History, header: list[str], block: np.ndarray) -> None:
    if SCORE not in header:
        return
    for row in block[np.isfinite(block[:, header.index(SCORE)])]:
        if len(history.evaluations) < _MOST_EVALUATIONS:
            named = zip(header, row.tolist(), strict=True)
            known = ((name, value) for name, value in named if math.isfinite(value))
            history.evaluations.append({k: v for k, v in known if k.startswith("eval/") or k in _OF_ANY_ROW})


def _step(value: float) -> int:
    return int(value) if math.isfinite(value) and abs(value) < 2**63 else 0
