"""What is read of a metrics file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.reports import history
from gymnast.reports.history import N_BUCKETS, read_history


def write(path: Path, values: list[float | None], name: str = "train/kl") -> Path:
    lines = [f"time/env_steps,{name}"]
    lines += [f"{10 * (row + 1)},{'' if value is None else repr(value)}" for row, value in enumerate(values)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_trend_of_a_line(tmp_path: Path) -> None:
    found = read_history(write(tmp_path / "m.csv", [float(value) for value in range(100)]))
    trend = found.trend("train/kl")
    assert trend is not None
    assert (trend.first, trend.last) == (0.0, 99.0)
    assert (trend.min, trend.min_step, trend.max, trend.max_step) == (0.0, 10, 99.0, 1000)
    assert trend.slope == pytest.approx(0.2 * 99)  # the last fifth of the way
    assert len(trend.buckets) == N_BUCKETS
    assert trend.buckets == tuple(sorted(trend.buckets, key=lambda mean: mean or 0.0))
    assert found.total("train/kl") == sum(range(100))


def test_values_that_are_missing_or_not_finite_are_left_out(tmp_path: Path) -> None:
    values = [None, math.nan, 3.0, math.inf, None, 1.0, -math.inf]
    trend = read_history(write(tmp_path / "m.csv", values)).trend("train/kl")
    assert trend is not None
    assert (trend.first, trend.last, trend.min, trend.max) == (3.0, 1.0, 1.0, 3.0)
    assert read_history(write(tmp_path / "m.csv", [None, None])).trend("train/kl") is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(1, 50))
def test_a_long_file_keeps_extremes_and_means(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], points: int
) -> None:
    path = write(tmp_path_factory.mktemp("long") / "m.csv", values)
    before, history.MOST_POINTS = history.MOST_POINTS, points
    try:
        found = read_history(path)
    finally:
        history.MOST_POINTS = before
    trend = found.trend("train/kl")
    assert trend is not None
    assert found.rows == len(values)
    assert (trend.min, trend.max) == (min(values), max(values))
    assert (trend.first, trend.last) == (values[0], values[-1])
    assert values[trend.max_step // 10 - 1] == max(values)
    assert found.total("train/kl") == pytest.approx(sum(values), rel=1e-9, abs=1e-3)
    low, high = min(values) - 1e-6, max(values) + 1e-6
    assert all(mean is None or low <= mean <= high for mean in trend.buckets)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "m.csv", np.arange(30_000.0).tolist())
    found = read_history(path)
    assert found.rows == 30_000
    assert len(found.steps) <= 2 * history.MOST_POINTS


def test_damage_leaves_the_rest_readable(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "m.csv", [1.0, 2.0, 3.0])
    path.write_text(path.read_text().replace("20,2.0", "20,2.x") + "40,4")  # the last is half written
    found = read_history(path)
    assert found.rows == 2
    assert "1 row is damaged" in caplog.text
    assert read_history(tmp_path / "missing.csv").rows == 0
    path.write_text("train/kl\n1.0\n2.0\n")  # no counter
    trend = read_history(path).trend("train/kl")
    assert trend is not None
    assert trend.last == 2.0
