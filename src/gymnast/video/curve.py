"""The curve of a run's returns, drawn up to a moment: it grows as a progress video plays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gymnast.drawing import ACCENT, BACKGROUND, FAINT, LINES, PANEL, TEXT, WARM, Canvas
from gymnast.metrics.csv_file import read_columns
from gymnast.runs.store import RunFolder

_MOST_POINTS = 400  # more would be drawn on top of each other
_STEPS = "time/env_steps"
# Evaluations happen at the steps they name, whenever the row is written.
_SOURCES = (
    ("eval/env_steps", "eval/return/mean"),
    (_STEPS, "train/return_plain/mean"),
    (_STEPS, "train/return/mean"),
)


@dataclass(frozen=True, slots=True)
class Curve:
    """Returns [K] by env steps [K], in the order of time."""

    steps: np.ndarray
    returns: np.ndarray
    name: str
    solved_at: float | None = None

    def at(self, steps: float) -> float | None:
        """The last return that was known at a moment; None before the first."""
        known = np.flatnonzero(self.steps <= steps)
        return float(self.returns[known[-1]]) if known.size else None


def read_curve(run: RunFolder, solved_at: float | None) -> Curve:
    """Scores of the evaluations; where there are too few for a curve, returns of training."""
    columns = read_columns(run.metrics_path, {key for pair in _SOURCES for key in pair})
    found: list[Curve] = []
    for steps_key, key in _SOURCES:
        there = np.isfinite(columns[steps_key]) & np.isfinite(columns[key])
        steps, returns = columns[steps_key][there], columns[key][there]
        name = "return in evaluation" if key.startswith("eval/") else "return in training"
        found.append(Curve(*_thinned(steps, returns), name, solved_at))
    return next((curve for curve in found if len(curve.steps) > 1), found[0])


def _thinned(steps: np.ndarray, returns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), _MOST_POINTS)).round().astype(int))
    return steps[chosen], returns[chosen]


def draw_curve(
    curve: Curve, width: int, height: int, *, upto: float, last: float, lines: tuple[str, str]
) -> np.ndarray:
    """A panel with two lines of text above and the curve up to env step `upto` of `last`."""
    canvas = Canvas(width, height, PANEL)
    canvas.text(lines[0], 20, 18, 28, width=width - 40)
    canvas.text(lines[1], 20, 46, 24, ACCENT, width=width - 40)
    left, right, top, bottom = 64, width - 24, 108, height - 56
    canvas.rectangle(left, top, right - left, bottom - top, BACKGROUND)
    canvas.text(curve.name, left, top - 22, 20, FAINT)
    levels = [*curve.returns.tolist(), *([] if curve.solved_at is None else [curve.solved_at])] or [0.0]
    low, high = min(levels), max(levels)
    if high - low < 1e-9:
        low, high = low - 1.0, high + 1.0

    def place(steps: float, value: float) -> tuple[float, float]:
        share = (value - low) / (high - low)
        return left + (right - left) * steps / max(last, 1), bottom - 8 - (bottom - top - 16) * share

    for level in (low, high):
        y = place(0, level)[1]
        canvas.text(_short(level), left - 8, y - 7, 20, FAINT, "right")
        canvas.line([(left, y), (right, y)], LINES)
    if curve.solved_at is not None:
        y = place(0, curve.solved_at)[1]
        canvas.line([(left, y), (right, y)], WARM)
        canvas.text("solved", right - 4, y + 4 if y < (top + bottom) / 2 else y - 18, 18, WARM, "right")
    canvas.text("0", left, bottom + 8, 20, FAINT)
    canvas.text(f"{last:,.0f} steps", right, bottom + 8, 20, FAINT, "right")
    points = [
        place(steps, value) for steps, value in zip(curve.steps, curve.returns, strict=True) if steps <= upto
    ]
    if points and upto > curve.steps[0]:  # as far as time has come between two points
        points.append(place(upto, float(np.interp(upto, curve.steps, curve.returns))))
    canvas.line(points, ACCENT, 3)
    if points:
        canvas.disc(*points[-1], 6, TEXT)
    return canvas.array()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
