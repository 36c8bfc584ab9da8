"""What one run reached, by the scale of its env: scores, when the threshold was reached, areas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.runs.curves import Curve, normalised_area, reached
from gymnast.runs.registry import RunEntry

AREA = "mean over env steps of clip((score - start) / (threshold - start), 0, 1)"


@dataclass(frozen=True, slots=True)
class EnvScale:
    """What scores of one env are measured by."""

    threshold: float | None
    start: float | None  # the mean of the runs' first returns in training: about what a random policy gets
    area_budget: float | None  # env steps that all its runs are known for

    def normalised(self, score: float | None) -> float | None:
        """0 for the start, 1 for the threshold; None where there is no such scale."""
        if score is None or self.start is None or self.threshold is None or self.threshold <= self.start:
            return None
        return (score - self.start) / (self.threshold - self.start)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one run reached. A score is a value of `metric`, by default the mean return of an evaluation."""

    id: str
    env: str
    metric: str  # "" if the run has no values
    final: float | None
    best: float | None
    threshold: float | None
    reached: bool | None  # None where there is no threshold
    steps_to_threshold: float | None  # env steps; not reached: more than `env_steps`
    seconds_to_threshold: float | None
    env_steps: int
    seconds: float
    score_auc: float | None
    area: float | None  # AREA, over the budget of its env's scale


def scale_of(
    curves: Sequence[Curve], settings: Sequence[dict[str, Any]], env: str, threshold: float | None
) -> EnvScale:
    """The scale of the runs of one env. `threshold` replaces the one that their configs record."""
    starts = [curve.start for curve in curves if math.isfinite(curve.start)]
    budget = common_end(curves, "env_steps")
    return EnvScale(
        threshold=recorded_threshold(settings, env) if threshold is None else threshold,
        start=float(np.mean(starts)) if starts else None,
        area_budget=budget if budget > 0 else None,
    )


def recorded_threshold(settings: Sequence[dict[str, Any]], env: str) -> float | None:
    """The mean return that counts as solved: of the configs (the highest, should they differ), else that of
    Gymnasium's own registry. Nothing is imported for it: the config may come from anywhere."""
    if known := thresholds(settings):
        return max(known)
    import gymnasium

    registered = gymnasium.registry.get(env)
    return None if registered is None else _number(registered.reward_threshold)


def thresholds(settings: Sequence[dict[str, Any]]) -> set[float]:
    """Those that configs record."""
    recorded = [_number(one.get("env.spec.solved_at")) for one in settings]
    return {value for value in recorded if value is not None}


def common_end(curves: Sequence[Curve], axis: str) -> float:
    """How far all curves are known. Those of runs that solved their env are known for as long as it takes;
    if all did, to the end of the longest."""
    there = [curve for curve in curves if len(curve.y)]
    end = min((curve.end(axis) for curve in there), default=0.0)
    return end if math.isfinite(end) else max(curve.last[axis] for curve in there)


def result_of(entry: RunEntry, curve: Curve, scale: EnvScale, better: str | None) -> RunResult:
    """What a run reached on the scale of its env."""
    lower = better == "lower"
    seen = len(curve.y) > 0
    first = None if scale.threshold is None else reached(curve, scale.threshold, lower=lower)
    area = None
    if scale.start is not None and scale.threshold is not None and scale.area_budget is not None:
        area = normalised_area(curve, scale.start, scale.threshold, scale.area_budget)
    return RunResult(
        id=entry.id,
        env=entry.env,
        metric=curve.metric,
        final=float(curve.y[-1]) if seen else None,
        best=float(curve.y.min() if lower else curve.y.max()) if seen else None,
        threshold=scale.threshold,
        reached=None if scale.threshold is None or not seen else first is not None,
        steps_to_threshold=None if first is None else first[0],
        seconds_to_threshold=None if first is None else first[1],
        env_steps=max(int(entry.env_steps), int(curve.last["env_steps"])),
        seconds=max(float(entry.seconds), curve.last["seconds"]),
        score_auc=entry.score_auc,
        area=area,
    )


def _number(value: Any) -> float | None:
    """A finite number of a config, which may have been edited."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
