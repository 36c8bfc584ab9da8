"""Long series for few pixels: the lowest and the highest value of each column, so that peaks survive."""

from __future__ import annotations

import numpy as np


def reduced(
    x: np.ndarray, low: np.ndarray, high: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x, lowest, highest) of each of `columns` equal pieces of the x range that holds points; x is in order.

    A piece that holds only NaN is kept as NaN: a gap stays a gap.
    """
    span = float(x[-1] - x[0]) if len(x) else 0.0
    if span <= 0 or len(x) <= columns:
        return x, low, high
    piece = np.minimum(((x - x[0]) * (columns / span)).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.diff(piece, prepend=-1))
    lowest = np.fmin.reduceat(low, starts)
    highest = np.fmax.reduceat(high, starts)
    return x[starts], lowest, highest


def curve_points(x: np.ndarray, y: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """At most two points for each column: the lowest and the highest, in the order in which they come."""
    if len(x) <= 2 * columns or not x[-1] > x[0]:
        return x, y
    piece = np.minimum(((x - x[0]) * (columns / float(x[-1] - x[0]))).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.diff(piece, prepend=-1))
    ends = np.append(starts[1:], len(x))
    kept = []
    low, high = np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)
    for start, end, lowest, highest in zip(starts, ends, low, high, strict=True):
        if np.isnan(lowest):
            kept.append(start)
            continue
        own = y[start:end]
        first, second = start + int(np.argmax(own == lowest)), start + int(np.argmax(own == highest))
        kept += [first] if first == second else sorted((first, second))
    chosen = np.array(kept)
    return x[chosen], y[chosen]


def pieces(*arrays: np.ndarray) -> list[slice]:
    """The stretches in which no array is NaN."""
    there = np.logical_and.reduce([np.isfinite(array) for array in arrays])
    edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False])).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
