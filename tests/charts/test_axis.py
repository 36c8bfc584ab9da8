"""Ticks are round and inside; labels are short and differ; charts in text keep to their size."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.charts.axis import axis_of, finite, labels, round_values, short_number
from gymnast.charts.text import overlaid_chart, text_chart

NUMBERS = st.lists(st.floats(), max_size=60)


@settings(max_examples=150, deadline=None)
@given(NUMBERS, st.booleans(), st.integers(2, 12))
def test_an_axis_holds_all_values_and_its_ticks_lie_inside(values: list[float], log: bool, most: int) -> None:
    array = finite(values)
    axis = axis_of(array, log=log, padding=0.04)
    there = array[np.isfinite(array)]
    assert axis.low < axis.high
    if there.size:
        shares = axis.share(there)
        assert np.isfinite(shares).all()
        assert (shares >= -1e-9).all()
        assert (shares <= 1 + 1e-9).all()
    ticks = axis.ticks(most)
    assert len(ticks) <= 2 * most + 3
    places = axis.share(np.array([value for value, _ in ticks]))
    assert ((places >= -1e-6) & (places <= 1 + 1e-6)).all()


@settings(max_examples=150, deadline=None)
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_labels_of_ticks_differ(low: float, size: float) -> None:
    values = round_values(low, low + max(size, abs(low) * 1e-6), 6)
    written = labels(values)
    assert len(set(written)) == len(written)


def test_numbers_are_short() -> None:
    shown = {
        0: "0", 1.25: "1.25", 475: "475", 2500: "2500", 35_000: "35k", 1_200_000: "1.2M", 300_000: "300k",
        -4.5e9: "-4.5G", 3e-4: "3e-4", 2.5e-5: "2.5e-5", 1e20: "1e20",
    }  # fmt: skip
    assert {value: short_number(value) for value in shown} == shown
    assert labels([0, 50_000, 100_000]) == ["0", "50k", "100k"]
    assert labels([0, 500_000, 1_000_000]) == ["0", "0.5M", "1.0M"]
    assert labels([0, 1e-4, 2e-4]) == ["0", "1e-4", "2e-4"]


@settings(max_examples=100, deadline=None)
@given(NUMBERS, NUMBERS, st.integers(20, 60), st.integers(5, 12), st.text(max_size=80))
def test_a_text_chart_keeps_to_its_size(
    x: list[float], y: list[float], width: int, height: int, title: str
) -> None:
    lines = text_chart(x, y, width=width, height=height, title="".join(title.split())).split("\n")
    assert len(lines) <= height
    assert max(map(len, lines)) <= width


def test_a_text_chart_shows_where_the_curve_goes() -> None:
    lines = text_chart(np.arange(1000), np.arange(1000) / 2, title="rising").split("\n")
    assert lines[0] == "rising"
    assert lines[1].split("│")[0].strip() == "500"
    assert lines[-3].split("│")[0].strip() == "0"
    assert lines[-1].split() == ["0", "999"]
    starts = [len(line.split("│")[1]) for line in lines[1:-2]]  # of the last dot in each row
    assert starts == sorted(starts, reverse=True)
    assert starts[0] > 50
    assert starts[-1] < 12
    both = overlaid_chart([("A", [0, 1], [0, 1]), ("B", [0, 1], [1, 0])])
    assert both.count("A") > 8
    assert both.count("B") > 8
    assert "no values" in text_chart([], [])
    assert "no values" in text_chart([1.0], [float("nan")])
