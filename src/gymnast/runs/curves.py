"""The curve of a run by which it is compared, and what is read off it: scores, and when a threshold was
reached."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gymnast.metrics.csv_file import read_columns
from gymnast.runs.store import RunFolder

SCORE = "eval/return/mean"
_TRAINING = ("train/return_plain/mean", "train/return/mean")  # without shaping, where that is known
AXES = {
    "vec_steps": "time/vec_steps",
    "env_steps": "time/env_steps",
    "seconds": "time/seconds",
    "updates": "time/updates",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """Values [K] of one metric of a run by each of AXES [K], in the order of env steps."""

    metric: str  # "" if the run has no values
    x: dict[str, np.ndarray]
    y: np.ndarray
    last: dict[str, float]  # how far the run came on each of AXES
    start: float  # the first return in training: about what an untrained policy gets; NaN if unknown
    solved: bool = False  # it stopped before its budget because there was nothing left to gain

    def end(self, axis: str) -> float:
        """How far the curve is known: a run that stopped because it solved its env keeps its last score."""
        return math.inf if self.solved else self.last[axis]

    def at(self, axis: str, places: np.ndarray) -> np.ndarray:
        """The values at other places, in a straight line between points; it begins at `start`."""
        x, y = self.x[axis], self.y
        if math.isfinite(self.start) and len(x) and x[0] > 0:
            x, y = np.concatenate(([0.0], x)), np.concatenate(([self.start], y))
        return np.interp(places, x, y)


EMPTY = Curve("", dict.fromkeys(AXES, np.empty(0)), np.empty(0), dict.fromkeys(AXES, 0.0), math.nan)


def read_curve(run: RunFolder, metric: str | None = None, *, solved: bool = False) -> Curve:
    """The values of `metric`; else the scores of the evaluations, else the returns in training."""
    wanted = (SCORE, *_TRAINING) if metric is None else (metric,)
    keys = dict.fromkeys((*AXES.values(), "eval/env_steps", *wanted, *_TRAINING))
    columns = read_columns(run.metrics_path, keys)
    steps = columns["time/env_steps"]
    known = np.isfinite(steps)
    last = {
        axis: float(np.nanmax(columns[key], initial=0.0)) if len(steps) else 0.0 for axis, key in AXES.items()
    }
    start = next((value for key in _TRAINING for value in _first(columns[key])), math.nan)
    chosen = next((key for key in wanted if (np.isfinite(columns[key]) & known).any()), None)
    if chosen is None:
        return Curve("", EMPTY.x, EMPTY.y, last, start, solved)
    shown = np.isfinite(columns[chosen]) & known
    taken = steps
    if chosen.startswith("eval/"):  # an evaluation in the background is of an earlier step than its row
        taken = np.where(np.isfinite(columns["eval/env_steps"]), columns["eval/env_steps"], steps)
    order = np.flatnonzero(shown)[np.argsort(taken[shown], kind="stable")]
    x = {axis: _moved(columns[key], steps, taken)[order] for axis, key in AXES.items()}
    x["seconds"] = columns["time/seconds"][order]  # when it was known
    return Curve(chosen, x, columns[chosen][order], last, start, solved)


def _first(column: np.ndarray) -> list[float]:
    finite = column[np.isfinite(column)]
    return finite[:1].tolist()


def _moved(column: np.ndarray, steps: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """What a counter stood at when `taken` env steps were done."""
    there = np.isfinite(column) & np.isfinite(steps)
    if not there.any():
        return np.full(len(column), np.nan)
    order = np.argsort(steps[there], kind="stable")
    return np.interp(taken, steps[there][order], column[there][order])


def reached(curve: Curve, threshold: float, *, lower: bool = False) -> tuple[float, float] | None:
    """Env steps and seconds at the first value that is as good as the threshold; None if there is none."""
    good = curve.y <= threshold if lower else curve.y >= threshold
    if not good.any():
        return None
    first = int(np.argmax(good))
    return float(curve.x["env_steps"][first]), float(curve.x["seconds"][first])


def normalised_area(curve: Curve, start: float, threshold: float, budget: float) -> float | None:
    """The mean over `budget` env steps of clip((score - start) / (threshold - start), 0, 1).

    Each score counts from its evaluation to the next, `start` before the first. None where the threshold
    is not above the start.
    """
    if not (threshold > start and budget > 0) or not len(curve.y):
        return None
    steps = np.minimum(curve.x["env_steps"], budget)
    lasts = np.diff(np.append(steps, budget))
    shares = np.clip((curve.y - start) / (threshold - start), 0.0, 1.0)
    return float((shares * lasts).sum() / budget)
