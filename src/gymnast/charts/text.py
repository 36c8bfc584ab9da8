"""Charts as text, for terminals, reports and language models: dots of braille in a frame with numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.charts.axis import Axis, axis_of, finite, short_number
from gymnast.charts.reduce import pieces, reduced

_BRAILLE = 0x2800
# The bit of each of a cell's 4 × 2 dots.
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def text_chart(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    *,
    width: int = 60,
    height: int = 12,
    title: str = "",
) -> str:
    """One curve in at most `width` × `height` characters, with the ends of both axes as numbers."""
    return overlaid_chart([("", x, y)], width=width, height=height, title=title)


def overlaid_chart(
    curves: Sequence[tuple[str, Sequence[float] | np.ndarray, Sequence[float] | np.ndarray]],
    *,
    width: int = 60,
    height: int = 12,
    title: str = "",
) -> str:
    """Curves (letter, x, y) in one frame: the letter draws its curve; without a letter it is drawn in dots.

    Where curves meet, the first is shown.
    """
    given = [(letter, *_ordered(x, y)) for letter, x, y in curves]
    across = axis_of(*(x for _, x, _ in given))
    up = axis_of(*(y for _, _, y in given))
    numbers = [short_number(up.high), short_number((up.low + up.high) / 2), short_number(up.low)]
    margin = max(len(number) for number in numbers)
    columns, rows = max(4, width - margin - 1), max(2, height - 2 - bool(title))
    cells = np.full((rows, columns), " ")
    for letter, x, y in reversed(given):
        dots = _dots(x, y, across, up, *((rows, columns) if letter else (4 * rows, 2 * columns)))
        if letter:
            cells[dots] = letter[0]
        else:
            codes = (dots.reshape(rows, 4, columns, 2) * _BITS[:, None, :]).sum((1, 3))
            drawn = np.array([chr(code) for code in (_BRAILLE + codes).ravel().tolist()]).reshape(codes.shape)
            cells = np.where(codes > 0, drawn, cells)
    if not any(np.isfinite(y).any() for _, _, y in given):
        cells[rows // 2, : min(columns, 9)] = list("no values"[:columns])
    labels = {0: numbers[0], rows // 2: numbers[1], rows - 1: numbers[2]} if rows > 2 else {0: numbers[0]}
    lines = [title[:width]] if title else []
    lines += [f"{labels.get(row, ''):>{margin}}│{''.join(cells[row])}".rstrip() for row in range(rows)]
    lines.append(" " * margin + "└" + "─" * columns)
    first, last = short_number(across.low)[:columns], short_number(across.high)
    room = columns - len(first)
    lines.append(" " * (margin + 1) + first + (last.rjust(room) if len(last) < room else ""))
    return "\n".join(lines)


def _ordered(
    x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    places, values = finite(x), finite(y)
    count = min(len(places), len(values))
    there = np.flatnonzero(np.isfinite(places[:count]))
    order = there[np.argsort(places[there], kind="stable")]
    return places[order], values[order]


def _dots(x: np.ndarray, y: np.ndarray, across: Axis, up: Axis, rows: int, columns: int) -> np.ndarray:
    """Which dots [rows, columns] a curve covers: in each column from its lowest to its highest value."""
    dots = np.zeros((rows, columns), bool)
    x, low, high = reduced(x, y, y, columns)
    for piece in pieces(low):
        at = (across.share(x[piece]) * (columns - 1)).round().astype(int)
        bottom = (up.share(low[piece]) * (rows - 1)).round().astype(int)
        top = (up.share(high[piece]) * (rows - 1)).round().astype(int)
        every = np.arange(at[0], at[-1] + 1)
        # Between two points the curve is straight; in a column it reaches half-way to its neighbours.
        lower, upper = np.interp(every, at, bottom), np.interp(every, at, top)
        middle = (lower[:-1] + upper[:-1] + lower[1:] + upper[1:]) / 4
        lower = np.minimum(lower, np.minimum(np.append(middle, np.inf), np.append(np.inf, middle)))
        upper = np.maximum(upper, np.maximum(np.append(middle, -np.inf), np.append(-np.inf, middle)))
        level = np.arange(rows)[:, None]
        covered = (level >= np.round(lower)) & (level <= np.round(upper))
        dots[:, every] |= covered[::-1]
    return dots
