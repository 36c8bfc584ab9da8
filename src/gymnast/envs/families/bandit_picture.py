"""What a bandit looks like: a column for each arm, with what it has paid and what it would pay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.drawing import ACCENT, BAD, FAINT, GOOD, LINES, PANEL, TEXT, WARM, Canvas

WIDTH, HEIGHT = 640, 400
_LEFT, _TOP, _BOTTOM = 48, 64, 80  # margins around the columns


def draw_bandit(
    means: Sequence[float],
    counts: Sequence[int],
    sums: Sequence[float],
    pulled: int | None,
    reward: float,
    horizon: int,
) -> np.ndarray:
    """One column an arm: filled to the mean of what it has paid, a line at its true mean, its number and its
    pulls below. The arm that was pulled last is lit, with what it paid above it."""
    canvas = Canvas(WIDTH, HEIGHT)
    n, best, pulls = len(means), int(np.argmax(means)), int(sum(counts))
    low, high = min(0.0, *means), max(0.0, *means)
    if low < 0.0 or high > 1.0:  # no probabilities: a few means of unlucky pulls may lie outside
        margin = 0.3 * (high - low)
        low, high = low - margin, high + margin
    else:
        high = 1.0

    def height_of(value: float) -> float:
        """The scale stands still for the whole episode; what is beyond it ends at its border."""
        share = (min(max(value, low), high) - low) / (high - low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    canvas.text(f"{n} arms", _LEFT, 16, 26)
    canvas.text(f"pull {pulls} of {horizon}", WIDTH - 24, 16, 26, FAINT, "right")
    for mark in (low, 0.0, high) if low < 0.0 else (low, high):
        canvas.line([(_LEFT, height_of(mark)), (WIDTH - 24, height_of(mark))], LINES)
        canvas.text(f"{mark:.3g}", _LEFT - 8, height_of(mark) - 7, 20, FAINT, "right")
    pitch = (WIDTH - _LEFT - 24) / n
    column = max(2.0, min(pitch * 0.7, 90.0))
    for arm in range(n):
        middle = _LEFT + pitch * (arm + 0.5)
        x, lit = middle - column / 2, arm == pulled
        canvas.rectangle(x, _TOP, column, HEIGHT - _TOP - _BOTTOM, PANEL)
        if counts[arm]:
            ends = sorted((height_of(sums[arm] / counts[arm]), height_of(0.0)))
            canvas.rectangle(x, ends[0], column, ends[1] - ends[0], ACCENT if lit else LINES)
        canvas.rectangle(x, height_of(means[arm]) - 1, column, 3, WARM if arm == best else TEXT)
        if pitch >= 18:
            canvas.text(str(arm), middle, HEIGHT - _BOTTOM + 8, 24, TEXT if lit else FAINT, "centre")
            canvas.text(str(counts[arm]), middle, HEIGHT - _BOTTOM + 30, 20, FAINT, "centre")
        if lit:
            canvas.frame(x - 2, _TOP - 2, column + 4, HEIGHT - _TOP - _BOTTOM + 4, ACCENT, 2)
            canvas.text(f"{reward:+.2f}", middle, _TOP - 22, 24, GOOD if reward > 0 else BAD, "centre")
    legend = "line: true mean (yellow: best)   column: mean so far   number: pulls"
    canvas.text(legend, _LEFT, HEIGHT - 24, 18, FAINT)
    return canvas.array()
