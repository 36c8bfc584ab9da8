"""Pictures of a sweep: every trial as a line across its settings, and each setting against the value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.charts.axis import Axis, axis_of, finite, short_number
from gymnast.charts.picture import Series, grid, line_chart
from gymnast.charts.plot import EDGE, FAINT, INK, PALETTE, SCALE, TEXT_SIZE, TITLE_SIZE, WHITE, Plot
from gymnast.drawing import Canvas, Colour
from gymnast.sweeps.distributions import Beta, Dimension, Normal, fits, grid_of
from gymnast.sweeps.state import SweepState, TrialRecord

_LOW, _HIGH = (196, 216, 235), (8, 48, 107)  # colours of the worst and the best value
_BASELINE: Colour = PALETTE[1]
_MOST_AXES = 12
_SLICE = (360, 240)  # pixels of one setting's picture


@dataclass(frozen=True, slots=True)
class Shown:
    """One trial as it is drawn."""

    trial: TrialRecord
    values: dict[str, Any]
    value: float
    share: float  # 0 for the worst, 1 for the best


def shown_trials(state: SweepState) -> list[Shown]:
    """Trials with a value, the worst first, so that the best is drawn on top."""
    ranked = list(reversed(state.ranked()))
    count = max(1, len(ranked) - 1)
    found = [(trial, trial.value) for trial in ranked]
    return [
        Shown(trial, state.values_of(trial), value, place / count)
        for place, (trial, value) in enumerate(found)
        if value is not None
    ]


def parallel_coordinates(state: SweepState, width: int = 1100, height: int = 420) -> np.ndarray:
    """[height, width, 3]: one axis for each setting, the last for the value; dark lines are good trials."""
    trials = shown_trials(state)
    keys = list(state.plan.space.dimensions)[:_MOST_AXES]
    canvas = Canvas(SCALE * width, SCALE * height, WHITE)
    title = f"{len(trials)} trials, dark is better; orange is the preset"
    canvas.text(title, SCALE * width / 2, SCALE * 8, SCALE * TITLE_SIZE // 2 * 2, INK, "centre")
    top, bottom, left, right = 76, height - 40, 60, width - 60
    across = np.linspace(left, right, len(keys) + 1)
    scale = axis_of(finite([shown.value for shown in trials]), padding=0.02)
    for place, key in zip(across.tolist(), [*keys, state.plan.objective.name], strict=True):
        canvas.line([(SCALE * place, SCALE * top), (SCALE * place, SCALE * bottom)], EDGE, SCALE)
        name = key.removeprefix("algo.").removesuffix(".start")
        room = SCALE * int((right - left) / max(1, len(keys)) - 6)
        canvas.text(name, SCALE * place, SCALE * (top - 38), SCALE * TEXT_SIZE, INK, "centre", room)
        ends = _ends(state.plan.space.dimensions[key]) if key in keys else (
            short_number(scale.high), short_number(scale.low))  # fmt: skip
        for text, y in zip(ends, (top - 18, bottom + 8), strict=True):
            canvas.text(text, SCALE * place, SCALE * y, SCALE * TEXT_SIZE, FAINT, "centre", room)
    for shown in sorted(trials, key=lambda item: (item.trial.origin == "baseline", item.share)):
        points = []
        for place, key in zip(across.tolist(), keys, strict=False):
            unit = unit_of(state.plan.space.dimensions[key], shown.values.get(key))
            if unit is not None:
                points.append((SCALE * place, SCALE * (bottom - unit * (bottom - top))))
        level = float(scale.share(np.array([shown.value]))[0])
        points.append((SCALE * across[-1], SCALE * (bottom - level * (bottom - top))))
        baseline = shown.trial.origin == "baseline"
        canvas.line(points, _BASELINE if baseline else _colour(shown.share), SCALE * (2 if baseline else 1))
    return _halved(canvas.array())


def slices(state: SweepState) -> np.ndarray:
    """Each setting against the value, on one page."""
    trials = shown_trials(state)
    pictures = [_slice(state, key, trials) for key in state.plan.space.dimensions]
    return grid(pictures, columns=3)


def front(state: SweepState) -> np.ndarray:
    """The best value so far over the trials."""
    sign, best = state.plan.objective.sign, -math.inf
    numbers, values, leading = [], [], []
    for trial in state.trials:
        if trial.value is None or trial.status == "failed":
            continue
        best = max(best, sign * trial.value)
        numbers.append(float(trial.number))
        values.append(trial.value)
        leading.append(sign * best)
    base = state.baseline
    marks = [(base.value, "preset")] if base is not None and base.value is not None else []
    series = [Series("best so far", numbers, leading), Series("each trial", numbers, values)]
    name = state.plan.objective.name
    return line_chart(series, title=f"{name} over the trials", x_label="trial", y_label=name, marks=marks)


def _slice(state: SweepState, key: str, trials: Sequence[Shown]) -> np.ndarray:
    dimension = state.plan.space.dimensions[key]
    known = [
        (unit, shown) for shown in trials if (unit := unit_of(dimension, shown.values.get(key))) is not None
    ]
    width, height = _SLICE
    plot = Plot(
        _UnitAxis(0.0, 1.0, dimension=dimension),
        axis_of(finite([shown.value for _, shown in known]), padding=0.05),
        title=key,
        x_label="",
        y_label=state.plan.objective.name,
        width=width,
        height=height,
    )
    for unit, shown in known:
        x = float(plot.left + (plot.right - plot.left) * unit)
        y = float(plot.place_y(np.array([shown.value]))[0])
        baseline = shown.trial.origin == "baseline"
        plot.dot(x, y, _BASELINE if baseline else _colour(shown.share), 4.5 if baseline else 3.0)
    return plot.array()


@dataclass(frozen=True, slots=True)
class _UnitAxis(Axis):
    """From 0 to 1, with the setting's values at its ticks."""

    dimension: Dimension | None = None

    def ticks(self, most: int) -> list[tuple[float, str]]:
        assert self.dimension is not None
        listed = grid_of(self.dimension)
        if listed is not None and len(listed) <= most + 2:
            places = [unit_of(self.dimension, value) for value in listed]
            return [
                (place, label(value))
                for place, value in zip(places, listed, strict=True)
                if place is not None
            ]
        return [(place, label(self.dimension.value(place))) for place in (0.0, 0.25, 0.5, 0.75, 1.0)]


def unit_of(dimension: Dimension, value: Any) -> float | None:
    """Where a value is on its axis; None if it is nowhere there."""
    if isinstance(dimension, (Normal, Beta)) or value is None:
        return None
    if not fits(dimension, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        value = dimension.clip(value)
    return min(max(float(dimension.unit(value)), 0.0), 1.0)


def _ends(dimension: Dimension) -> tuple[str, str]:
    return label(dimension.value(1.0)), label(dimension.value(0.0))


def label(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if 0.8 <= abs(value) < 1 else short_number(value)
    return str(value)


def _colour(share: float) -> Colour:
    low, high = np.array(_LOW), np.array(_HIGH)
    red, green, blue = (low + (high - low) * share**2).round().astype(int).tolist()
    return red, green, blue


def _halved(large: np.ndarray) -> np.ndarray:
    total = large[0::2, 0::2].astype(np.uint16)
    for row, column in ((0, 1), (1, 0), (1, 1)):
        total += large[row::2, column::2]
    return ((total + 2) >> 2).astype(np.uint8)
