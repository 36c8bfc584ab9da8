"""Charts as pictures: any numbers give a picture, and what is in the numbers is in the picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gymnast.charts.picture import Series, bar_chart, count_chart, grid, histogram, line_chart
from gymnast.charts.plot import PALETTE

NUMBERS = st.lists(st.floats(), max_size=40)


def shown(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Where (rows, columns) the picture has very nearly this colour."""
    return np.argwhere((np.abs(picture.astype(int) - colour) <= 12).all(-1))


@settings(max_examples=40, deadline=None)
@given(x=NUMBERS, y=NUMBERS, low=NUMBERS | st.none(), mark=st.floats(), log_y=st.booleans())
@example(x=[], y=[], low=None, mark=float("nan"), log_y=True)
@example(x=[1.0, 2.0], y=[5e-324, 1.7e308], low=[-1.7e308, 1.0], mark=0.0, log_y=True)
@example(x=[1e15, 1e15 + 1], y=[3.0, 3.0], low=None, mark=3.0, log_y=False)
def test_any_numbers_give_a_picture(
    x: list[float], y: list[float], low: list[float] | None, mark: float, log_y: bool
) -> None:
    series = [Series("a", x, y, low, y), Series("b", y, x)]
    picture = line_chart(series, marks=[(mark, "here")], log_y=log_y, width=200, height=130)
    assert picture.shape == (130, 200, 3)
    assert picture.dtype == np.uint8
    assert bar_chart([str(value) for value in x], y, width=200, height=130).shape == (130, 200, 3)
    assert histogram(y, width=200, height=130).shape == (130, 200, 3)


def test_a_peak_in_a_million_points_is_drawn() -> None:
    y = np.zeros(1_000_000)
    y[654_321] = 1.0
    picture = line_chart([Series("", np.arange(len(y)), y)], width=720, height=300)
    assert shown(picture, PALETTE[0])[:, 0].min() < 40
    column = shown(picture[:100], PALETTE[0])[:, 1]
    assert abs(column.mean() / 720 - 0.654) < 0.03
    assert np.ptp(column) <= 4


def test_nan_leaves_a_gap_however_long_the_series() -> None:
    for count in (60, 300_000):
        y = np.ones(count)
        y[count // 3 : 2 * count // 3] = np.nan
        columns = np.unique(shown(line_chart([Series("", np.arange(count), y)]), PALETTE[0])[:, 1])
        assert 180 < np.diff(columns).max() < 260  # a third of the width


def test_ten_series_are_told_apart() -> None:
    many = [Series(f"run {index}", [0, 1], [index, index + 1]) for index in range(10)]
    picture = line_chart(many, width=720, height=400)
    assert all(len(shown(picture, colour)) > 30 for colour in PALETTE)
    solid, dashed = (
        len(shown(line_chart([*many[:7], many[7]][first:last], width=720, height=400), PALETTE[0]))
        for first, last in ((0, 7), (0, 8))
    )
    assert dashed > solid + 50  # the eighth has the first's colour again, in dashes


def test_the_legend_does_not_cover_the_data() -> None:
    names = [f"a rather long name of run {index}" for index in range(10)]
    flat = line_chart([Series(name, [0, 1], [1.0, 1.0]) for name in names], height=300)
    spread = line_chart([Series(name, [0, 1], [0.0, index]) for index, name in enumerate(names)], height=300)
    rows = flat[:, 100:700] != spread[:, 100:700]
    legend_ends = 5 * 17
    assert not rows[:legend_ends].any()  # the legend is the same whatever is drawn below it
    assert rows[legend_ends:].any()


def test_a_logarithmic_axis_spreads_decades_evenly() -> None:
    y = [1.0, 10.0, 100.0, 1000.0, 10_000.0]
    for log_y, straight in ((True, True), (False, False)):
        points = shown(line_chart([Series("", [0, 1, 2, 3, 4], y)], log_y=log_y), PALETTE[0])
        fit = np.polyfit(points[:, 1], points[:, 0], 1)
        error = np.abs(np.polyval(fit, points[:, 1]) - points[:, 0]).max()
        assert (error < 6) == straight


def test_a_histogram_counts_every_value() -> None:
    values = np.random.default_rng(0).normal(size=500)
    counts, edges = np.histogram(values, 40)
    assert np.array_equal(histogram(values, title="t"), count_chart(counts, edges, title="t"))


def test_bars_that_do_not_fit_are_counted() -> None:
    few = bar_chart([f"m{index}" for index in range(12)], range(12), height=240)
    many = bar_chart([f"m{index}" for index in range(200)], range(200), height=240)
    assert few.shape == many.shape
    assert not np.array_equal(few, many)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_a_grid_holds_all_pictures(columns: int) -> None:
    pictures = [np.full((10 + index, 20 + index, 3), index, np.uint8) for index in range(5)]
    page = grid(pictures, columns)
    for index, picture in enumerate(pictures):
        assert (page == index).all(-1).sum() == picture.shape[0] * picture.shape[1]
    assert grid([]).shape == (1, 1, 3)
