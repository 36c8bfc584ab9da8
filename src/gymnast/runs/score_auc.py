"""Score AUC: one number for how much a training scored in how many steps.

It is the mean, over the env steps of the budget, of the best evaluation score so far:

    score AUC = 1/B · Σ best(k) · (steps for which best(k) was the best so far),   B = budgeted env steps

A run that learns the same in half the steps, or more in the same steps, scores higher. After the
last evaluation the best score counts for the rest of the budget if the run solved its env (it
stopped because there was nothing left to gain) and up to the steps taken otherwise; steps never
trained count as the start. The start, before the first evaluation, is the first mean return of
training, without shaping: what an untrained policy gets; at most the first score. Score AUCs
compare within one env and one budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gymnast.metrics.csv_file import read_columns
from gymnast.runs.store import RunFolder


def area(
    evals: Sequence[tuple[float, float]], start: float, taken: float, budget: float, solved: bool
) -> float:
    """Mean best-so-far score over `budget` env steps. `evals` are (env steps, score), in order."""
    total, best, since = 0.0, start, 0.0
    for steps, score in evals:
        steps = min(steps, budget)
        total += best * (steps - since)
        best, since = max(best, score), steps
    end = budget if solved else min(max(taken, since), budget)
    total += best * (end - since) + start * (budget - end)
    return total / budget


@dataclass(frozen=True, slots=True)
class ScoreCurve:
    """What the evaluations of a run say so far."""

    evals: tuple[tuple[float, float, float], ...]  # (env steps, seconds of training, score), in order
    start: float  # what an untrained policy gets
    taken: float  # env steps
    seconds: float
    budget: float  # env steps; 0 if it is not known
    solved: bool

    def area(self) -> float:
        if self.budget <= 0:
            return self.evals[0][2]
        evals = [(steps, score) for steps, _, score in self.evals]
        return area(evals, self.start, self.taken, self.budget, self.solved)


def of_run(run: RunFolder) -> float | None:
    """The score AUC of a run; None if it was never evaluated."""
    curve = curve_of(run)
    return None if curve is None else curve.area()


def curve_of(run: RunFolder) -> ScoreCurve | None:
    """The evaluations of a run; None if there is none yet."""
    keys = (
        "time/env_steps", "time/progress", "time/seconds", "eval/env_steps", "eval/return/mean",
        "eval/solved", "train/return_plain/mean", "train/return/mean",
    )  # fmt: skip
    columns = read_columns(run.metrics_path, keys).values()
    steps, progress, seconds, eval_steps, scores, solved, plain, shaped = columns
    shown = np.isfinite(scores)
    if not shown.any():
        return None
    at = np.where(np.isfinite(eval_steps), eval_steps, steps)
    evals = sorted(zip(at[shown].tolist(), seconds[shown].tolist(), scores[shown].tolist(), strict=True))
    untrained = np.where(np.isfinite(plain), plain, shaped)
    untrained = untrained[np.isfinite(untrained)]
    first_score = evals[0][2]
    start = min(float(untrained[0]), first_score) if len(untrained) else first_score
    taken = float(steps[-1])
    budget = float(run.info().get("budget_env_steps") or 0)
    if not budget:
        spent = float(progress[-1])
        budget = taken / spent if math.isfinite(spent) and spent > 0 else taken
    ended = bool(np.nansum(solved) > 0)
    return ScoreCurve(tuple(evals), start, taken, float(seconds[-1]), budget, ended)
