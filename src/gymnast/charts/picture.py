"""Charts as pictures: curves with bands, bars, histograms, and several on one page.

Each gives an RGB array [height, width, 3] uint8 on white. Whatever the numbers are (none, NaN, infinite, one,
a million), there is a picture; one without anything to draw says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gymnast.charts.axis import Axis, axis_of, finite, short_number
from gymnast.charts.plot import FAINT, INK, PALETTE, TEXT_SIZE, WHITE, Plot, colour_of, dash_of
from gymnast.charts.reduce import curve_points, pieces, reduced

Values = Sequence[float] | np.ndarray


@dataclass(frozen=True, slots=True)
class Series:
    """One curve [K]; NaN is a gap. `low` and `high` [K] draw a band around it."""

    name: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None


def line_chart(
    series: Sequence[Series],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    marks: Sequence[tuple[float, str]] = (),
    width: int = 720,
    height: int = 360,
    log_y: bool = False,
) -> np.ndarray:
    """Curves in one frame. `marks` are horizontal lines: (value, label in the legend).

    log_y: a logarithmic y axis where all values are above 0, else one that is straight around 0.
    """
    curves = [_ordered(one) for one in series]
    levels = finite([value for value, _ in marks])
    ys = [array for _, *arrays in curves for array in arrays]
    plot = Plot(
        axis_of(*(x for x, *_ in curves)),
        axis_of(*ys, levels, log=log_y, padding=0.04),
        title=title,
        x_label=x_label,
        y_label=y_label,
        width=width,
        height=height,
        names=[one.name for one in series] if len(series) > 1 or (series and series[0].name != title) else (),
        marks=[label for _, label in marks],
    )
    columns = round(plot.right - plot.left)
    for index, (x, _, low, high) in enumerate(curves):
        _draw_band(plot, index, *reduced(x, low, high, columns))
    for value in levels[np.isfinite(levels)].tolist():
        plot.mark(value)
    for index in reversed(range(len(curves))):  # the first is drawn last, on top
        x, y, _, _ = curves[index]
        _draw_curve(plot, index, *curve_points(x, y, columns))
    if not any(np.isfinite(y).any() for _, y, _, _ in curves):
        _say_nothing_there(plot)
    return plot.array()


def bar_chart(
    labels: Sequence[str],
    values: Values,
    *,
    title: str = "",
    x_label: str = "",
    width: int = 720,
    height: int = 360,
) -> np.ndarray:
    """One horizontal bar for each label, the first on top; those that do not fit are counted at the end."""
    numbers = finite(values)
    room = max(1, int((max(120, height) - 90) / 15))
    names = [str(label) for label in labels][: len(numbers)]
    left_out = len(names) - room
    if left_out > 0:
        names, numbers = names[:room], numbers[:room]
    axis = axis_of(np.append(numbers, 0.0) if len(numbers) else numbers, padding=0.08)
    if not (numbers < 0).any():
        axis = replace(axis, low=0.0)
    plot = Plot(
        axis,
        Axis(0.0, max(1.0, len(names))),
        title=title,
        x_label=x_label or (f"and {left_out} more" if left_out > 0 else ""),
        y_label=f"the first {room} of {room + left_out}" if left_out > 0 and x_label else "",
        width=width,
        height=height,
        y_names=names,
    )
    thick = (plot.bottom - plot.top) / max(1, len(names))
    zero = float(plot.place_x(np.zeros(1))[0])
    for index, (name, value) in enumerate(zip(names, numbers.tolist(), strict=False)):
        top = plot.top + index * thick
        plot.text(name, plot.left - 6, top + thick / 2 - 6, TEXT_SIZE, INK, "right", int(plot.left - 8))
        if not np.isfinite(value):
            plot.text("no value", zero + 5, top + thick / 2 - 6, TEXT_SIZE, FAINT)
            continue
        end = float(plot.place_x(np.array([value]))[0])
        gap = min(4.0, thick * 0.18)
        plot.rectangle(min(zero, end), top + gap, abs(end - zero), thick - 2 * gap, PALETTE[0])
        beside = (end + 5, "left") if value >= 0 else (end - 5, "right")
        plot.text(short_number(value), beside[0], top + thick / 2 - 6, TEXT_SIZE, FAINT, beside[1])
    if not names:
        _say_nothing_there(plot)
    return plot.array()


def histogram(
    values: Values,
    *,
    bins: int = 40,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    width: int = 720,
    height: int = 360,
) -> np.ndarray:
    """How often values fall into each of `bins` equal intervals."""
    numbers = finite(values)
    numbers = numbers[np.isfinite(numbers)]
    axis = axis_of(numbers)
    counts, edges = np.histogram(numbers, max(1, bins), (axis.low, axis.high))
    return count_chart(
        counts, edges, title=title, x_label=x_label, y_label=y_label, width=width, height=height
    )


def count_chart(
    counts: Values,
    edges: Values,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    width: int = 720,
    height: int = 360,
) -> np.ndarray:
    """A histogram that was counted already: counts [K] between edges [K + 1]."""
    heights, borders = finite(counts), finite(edges)
    plot = Plot(
        axis_of(borders),
        axis_of(np.append(heights * 1.05, 0.0) if len(heights) else heights),
        title=title,
        x_label=x_label,
        y_label=y_label,
        width=width,
        height=height,
    )
    across, base = plot.place_x(borders), float(plot.place_y(np.zeros(1))[0])
    for count, left, right in zip(heights.tolist(), across, across[1:], strict=False):
        if np.isfinite([count, left, right]).all():
            top = float(plot.place_y(np.array([count]))[0])
            gap = 0.5 if right - left > 3 else 0.0
            plot.rectangle(left + gap, top, right - left - 2 * gap, base - top, PALETTE[0])
    if not np.nansum(np.abs(heights)) > 0:
        _say_nothing_there(plot)
    return plot.array()


def grid(pictures: Sequence[np.ndarray], columns: int = 2) -> np.ndarray:
    """Pictures side by side on white, row after row; each row and column as large as its largest."""
    if not pictures:
        return np.full((1, 1, 3), 255, np.uint8)
    columns = max(1, min(columns, len(pictures)))
    rows = [list(pictures[start : start + columns]) for start in range(0, len(pictures), columns)]
    widths = [max(row[at].shape[1] for row in rows if at < len(row)) for at in range(columns)]
    heights = [max(picture.shape[0] for picture in row) for row in rows]
    page = np.full((sum(heights), sum(widths), 3), WHITE[0], np.uint8)
    for row, top in zip(rows, np.cumsum([0, *heights]), strict=False):
        for picture, left in zip(row, np.cumsum([0, *widths]), strict=False):
            page[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return page


def _ordered(one: Series) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, y, low and high of a series in the order of x, as long as the shortest."""
    x, y = finite(one.x), finite(one.y)
    low = finite(one.low) if one.low is not None else np.full(len(y), np.nan)
    high = finite(one.high) if one.high is not None else np.full(len(y), np.nan)
    count = min(len(x), len(y), len(low), len(high))
    place = np.flatnonzero(np.isfinite(x[:count]))
    order = place[np.argsort(x[place], kind="stable")]
    return x[order], y[order], low[order], high[order]


def _draw_curve(plot: Plot, index: int, x: np.ndarray, y: np.ndarray) -> None:
    for piece in pieces(y):
        points = list(zip(plot.place_x(x[piece]).tolist(), plot.place_y(y[piece]).tolist(), strict=True))
        plot.curve(points, colour_of(index), dash_of(index))
        if len(x) <= 12:  # so few points are shown as such
            for point in points:
                plot.dot(*point, colour_of(index))


def _draw_band(plot: Plot, index: int, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    for piece in pieces(low, high):
        across = plot.place_x(x[piece]).tolist()
        up, down = plot.place_y(high[piece]).tolist(), plot.place_y(low[piece]).tolist()
        if len(across) > 1:
            outline = [*zip(across, up, strict=True), *zip(reversed(across), reversed(down), strict=True)]
            plot.band(outline, colour_of(index))
        else:
            plot.curve([(across[0], up[0]), (across[0], down[0])], colour_of(index), None, 1.0)


def _say_nothing_there(plot: Plot) -> None:
    plot.text(
        "no values",
        (plot.left + plot.right) / 2,
        (plot.top + plot.bottom) / 2 - 6,
        TEXT_SIZE,
        FAINT,
        "centre",
    )
