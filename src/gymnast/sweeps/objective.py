"""What a sweep makes large (or small): a number of each run, also while it is still being trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from gymnast.errors import GymnastError, did_you_mean
from gymnast.metrics import catalogue
from gymnast.metrics.csv_file import read_columns
from gymnast.runs.score_auc import ScoreCurve, area, curve_of
from gymnast.runs.store import RunFolder

Goal = Literal["maximize", "minimize"]
# name → which way is better, and what it is
OBJECTIVES: dict[str, tuple[Goal, str]] = {
    "score_auc": ("maximize", "mean best score so far, over the env steps of the budget"),
    "score_auc_seconds": ("maximize", "the same over the seconds of budget.wall_time"),
    "final": ("maximize", "mean of the last three evaluation scores"),
    "best": ("maximize", "best evaluation score"),
    "steps_to_threshold": ("minimize", "env steps to the threshold; twice the budget if it is not reached"),
    "time_to_threshold": ("minimize", "seconds to the threshold; twice the time taken if it is not reached"),
}
_AREAS = ("score_auc", "score_auc_seconds")


@dataclass(frozen=True, slots=True)
class Objective:
    """What is compared, and what is needed to compute it."""

    name: str  # one of OBJECTIVES, or a metric of the catalogue
    goal: Goal
    target: float | None = None  # the search ends with the first trial that reaches it
    ceiling: float | None = None  # no score is higher: what makes pruning by the bound safe
    threshold: float | None = None  # for the two that end in _to_threshold
    seconds: float | None = None  # budget.wall_time, for score_auc_seconds

    @property
    def sign(self) -> int:
        """1 where more is better, else -1: `sign * value` is always made large."""
        return 1 if self.goal == "maximize" else -1

    @property
    def is_area(self) -> bool:
        return self.name in _AREAS

    def reached(self, value: float) -> bool:
        """Whether a value is as good as the target."""
        return self.target is not None and self.sign * value >= self.sign * self.target

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Objective:
        return cls(**{field.name: values[field.name] for field in fields(cls)})


def check_name(name: str, goal: str | None = None) -> Goal:
    """Which way is better; raises GymnastError for what is neither an objective nor a metric."""
    if goal not in (None, "maximize", "minimize"):
        raise GymnastError(f"metric.goal: must be maximize or minimize, got {goal!r}")
    if name in OBJECTIVES:
        best = OBJECTIVES[name][0]
        if goal is not None and goal != best:
            raise GymnastError(f"metric.goal: {name} is to be {best}d, not {goal}d")
        return best
    try:
        spec = catalogue.spec(name)
    except catalogue.UnknownMetric as error:
        hint = did_you_mean(name, OBJECTIVES)
        raise GymnastError(
            f"{error}{hint and f' or the objective{hint}'}; objectives are {', '.join(OBJECTIVES)}"
        ) from None
    if goal is not None:
        return goal  # type: ignore[return-value]
    if spec.better is None:
        raise GymnastError(
            f"metric {name}: which way is better? Say it in a sweep file: "
            f"metric: {{name: {name}, goal: maximize}}"
        )
    return "maximize" if spec.better == "higher" else "minimize"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run in numbers."""

    value: float | None  # of what was trained so far, with the best score held to the end of the budget
    bound: float | None = None  # of an area: no continuation of this run has more
    env_steps: int = 0
    seconds: float = 0.0


def measure(run: RunFolder, objective: Objective, *, ended: bool) -> Measured:
    """The objective of a run. `ended` says that it has nothing left to train, so steps that it did not take
    count as the score AUC counts them; else it is taken to stay as good as it is."""
    if objective.name not in OBJECTIVES:
        return _of_metric(run, objective.name)
    curve = curve_of(run)
    if curve is None:
        return Measured(None)
    taken = int(curve.taken), curve.seconds
    scores = [score for *_, score in curve.evals]
    if objective.is_area:
        value, bound = area_of(curve, objective, ended=ended)
        return Measured(value, bound, *taken)
    if objective.name == "final":
        return Measured(float(np.mean(scores[-3:])), None, *taken)
    if objective.name == "best":
        return Measured(max(scores), None, *taken)
    return Measured(_to_threshold(curve, objective), None, *taken)


def area_of(curve: ScoreCurve, objective: Objective, *, ended: bool) -> tuple[float, float | None]:
    """(value, upper bound) of a score AUC."""
    if objective.name == "score_auc_seconds":
        assert objective.seconds is not None
        evals = [(seconds, score) for _, seconds, score in curve.evals]
        budget, taken = objective.seconds, curve.seconds
    else:
        evals = [(steps, score) for steps, _, score in curve.evals]
        budget, taken = curve.budget, curve.taken
    if budget <= 0:
        return evals[0][1], None
    value = area(evals, curve.start, taken, budget, curve.solved or not ended)
    return value, upper_bound(evals, curve.start, budget, objective.ceiling)


def upper_bound(
    evals: list[tuple[float, float]], start: float, budget: float, ceiling: float | None
) -> float | None:
    """The most that the area can become: the highest score there is, from the last evaluation to the end."""
    if ceiling is None or not evals:
        return None
    return area([*evals, (evals[-1][0], ceiling)], start, budget, budget, solved=True)


def value_at(run: RunFolder, objective: Objective, env_steps: float) -> float | None:
    """What the objective was when the run had taken that many steps, with the best score of then held to the
    end: to compare runs of different length."""
    if objective.name not in OBJECTIVES:
        steps, values = read_columns(run.metrics_path, ("time/env_steps", objective.name)).values()
        known = values[np.isfinite(values) & (steps <= env_steps)]
        return float(known[-1]) if len(known) else None
    curve = curve_of(run)
    if curve is None:
        return None
    evals = [(steps, score) for steps, _, score in curve.evals if steps <= env_steps]
    if not evals:
        return curve.start
    if objective.name in ("best", "final"):
        scores = [score for _, score in evals]
        return max(scores) if objective.name == "best" else float(np.mean(scores[-3:]))
    # The best score is held to the end: else the last evaluation would count for nothing, and often there is
    # no other yet.
    worth = area(evals, curve.start, env_steps, max(curve.budget, env_steps), solved=True)
    return objective.sign * worth  # of two that did not reach the threshold, the better one is nearer


def _to_threshold(curve: ScoreCurve, objective: Objective) -> float:
    assert objective.threshold is not None
    for steps, seconds, score in curve.evals:
        if score >= objective.threshold:
            return steps if objective.name == "steps_to_threshold" else seconds
    if objective.name == "steps_to_threshold":
        return 2 * curve.budget
    return 2 * max(curve.seconds, objective.seconds or 0.0)


def _of_metric(run: RunFolder, name: str) -> Measured:
    """The last value, which is what W&B compares runs by."""
    keys = ("time/env_steps", "time/seconds", name)
    steps, seconds, values = read_columns(run.metrics_path, keys).values()
    if not len(steps):
        return Measured(None)
    known = values[np.isfinite(values)]
    value = float(known[-1]) if len(known) else None
    spent = float(seconds[-1])
    return Measured(value, None, int(steps[-1]), spent if math.isfinite(spent) else 0.0)
