"""What came of a sweep, in numbers: the front of trials, how long it still takes, winner against preset."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gymnast.runs import statistics
from gymnast.runs.statistics import Interval
from gymnast.sweeps.search import known_trials
from gymnast.sweeps.state import ENDED, SweepState, TrialRecord
from gymnast.sweeps.suggest.bayes import importances_of


@dataclass(frozen=True, slots=True)
class Tested:
    """One set of settings on the test seeds."""

    trial: int
    runs: int
    values: tuple[float, ...]
    iqm: float
    interval: Interval | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Winner against preset, on seeds that nothing was chosen by."""

    winner: Tested | None
    baseline: Tested | None
    difference: float | None  # winner - baseline, as the objective counts
    interval: Interval | None
    text: str

    def to_json(self) -> dict[str, Any]:
        return {
            "winner": None if self.winner is None else self.winner.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "difference": self.difference,
            "interval": None if self.interval is None else asdict(self.interval),
            "text": self.text,
        }


def verdict(state: SweepState) -> Verdict:
    """Says no more than the test shows."""
    base = state.baseline
    if state.winner is None or base is None:
        return Verdict(None, None, None, None, "the sweep is not over")
    winner = state.trials[state.winner]
    first, second = _tested(winner), _tested(base)
    if winner is base:
        return Verdict(
            second, second, None, None, "the preset's own values won: nothing that was tried beats them"
        )
    lost = _failed_tests(winner, base)
    if first is None or second is None:
        return Verdict(first, second, None, None, lost or "there was no test on seeds of its own")
    mine, theirs = np.array(first.values), np.array(second.values)
    difference = first.iqm - second.iqm
    interval = statistics.difference_interval([mine], [theirs])
    better = state.plan.objective.sign * difference > 0
    share = statistics.probability_of_improvement([mine], [theirs])
    if state.plan.objective.sign < 0:
        share = 1 - share
    words = f"trial {winner.number} is {'better' if better else 'worse'} than the preset on the test seeds"
    if difference == 0:
        words = f"trial {winner.number} and the preset are equal on the test seeds"
    elif interval is None:
        words += f", of which there are too few ({len(mine)}) for an interval"
    elif interval.excludes_zero:
        words += "; the interval of the difference excludes zero"
    else:
        words += ", but the interval of the difference contains zero: no difference is shown"
    words += f" (a run of it wins in {share:.0%} of pairs)"
    return Verdict(first, second, difference, interval, f"{words}; {lost}" if lost else words)


def _failed_tests(winner: TrialRecord, base: TrialRecord) -> str:
    """What is not in the numbers: test runs that failed have none."""
    names = {f"trial {winner.number}": winner, "the preset": base}
    counts = {name: (len(trial.of("test")), len(trial.values("test"))) for name, trial in names.items()}
    lost = [f"{runs - known} of {runs} of {name}" for name, (runs, known) in counts.items() if known < runs]
    return f"test runs that failed are left out: {', '.join(lost)}" if lost else ""


def _tested(trial: TrialRecord) -> Tested | None:
    values = trial.values("test")
    if not values:
        return None
    array = np.array(values)
    interval = statistics.iqm_interval([array])
    return Tested(trial.number, len(trial.of("test")), tuple(values), statistics.iqm([array]), interval)


def importances(state: SweepState) -> dict[str, float]:
    """The share of each setting, the largest first; empty without Optuna or with few trials."""
    found = importances_of(state.plan.space, known_trials(state))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def runs_left(state: SweepState) -> int:
    """How many runs the sweep still needs, about."""
    seeds = state.plan.seeds
    search = seeds.per_trial * (state.plan.trials - len(state.trials))
    if state.stage != "search":
        search = 0
    pending = sum(run.status in ("waiting", "running") for _, run in state.runs())
    contenders = min(seeds.contenders, state.plan.trials)
    race = 2 * contenders + max(0, seeds.race - 2) * math.ceil(contenders / 2) if seeds.race else 0
    test = 2 * seeds.test
    made = {stage: sum(run.stage == stage for _, run in state.runs()) for stage in ("race", "test")}
    if state.stage == "done":
        return 0
    return max(0, search) + pending + max(0, race - made["race"]) + max(0, test - made["test"])


def seconds_left(state: SweepState) -> float | None:
    """By how long the runs took so far; None before the first has ended."""
    ended = sum(run.status in ENDED or run.status == "paused" for _, run in state.runs())
    if not ended or state.seconds <= 0:
        return None
    return state.seconds / ended * runs_left(state)


def summary(state: SweepState, *, driven: bool, with_importances: bool = False) -> dict[str, Any]:
    """What `--json` prints."""
    best, base, objective = state.best(), state.baseline, state.plan.objective
    status = state.status
    if status == "running" and not driven:
        status = "interrupted"
    return {
        "id": state.id,
        "status": status,
        "stage": state.stage,
        "reason": state.reason,
        "reference": state.plan.reference,
        "method": state.plan.method,
        "objective": objective.to_json(),
        "created": state.created,
        "seconds": state.seconds,
        "trials": {
            "wanted": state.plan.trials,
            "made": len(state.trials),
            "finished": state.count("finished"),
            "pruned": state.count("pruned", "paused"),
            "failed": state.count("failed"),
            "refused": state.refused,
        },
        "seconds_left": seconds_left(state) if driven else None,
        "best": None if best is None else described(best),
        "baseline": None if base is None else described(base),
        "winner": state.winner,
        "verdict": verdict(state).to_json(),
        "importances": importances(state) if with_importances else None,
        "runs": sum(1 for _ in state.runs()),
        "env_steps": sum(run.env_steps for _, run in state.runs()),
    }


def described(trial: TrialRecord) -> dict[str, Any]:
    """One trial as plain data."""
    return {
        "trial": trial.number,
        "origin": trial.origin,
        "status": trial.status,
        "value": trial.value,
        "settings": trial.settings,
        "point": trial.point,
        "runs": [asdict(run) for run in trial.runs],
        "note": trial.note,
    }
