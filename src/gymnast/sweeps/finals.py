"""After the search: a race of the best on the same seeds, then a test of the winner on seeds of its own."""

from __future__ import annotations

import statistics

from gymnast.sweeps.search import new_run
from gymnast.sweeps.state import RunRecord, SweepState, TrialRecord

_KEPT = 0.5  # of the contenders, after each round but the first


def begin_race(state: SweepState) -> None:
    """Choose the contenders; without a race the best of the search wins."""
    ranked = [trial for trial in state.ranked() if trial.status == "finished"] or state.ranked()
    if not ranked:
        state.stage, state.reason = "done", "no trial has a value"
        return
    seeds = state.plan.seeds
    state.contenders = [trial.number for trial in ranked[: seeds.contenders]]
    if seeds.race == 0 or len(state.contenders) == 1:
        state.winner = state.contenders[0]
        state.stage = "test"
    else:
        state.stage = "race"


def race_runs(state: SweepState) -> list[RunRecord]:
    """The runs of the next round; empty when the race is over, which names the winner.

    Every contender gets the same seeds. After the second round, and each that follows, the lower half leaves.
    """
    seeds = state.plan.seeds.of_race()
    contenders = [state.trials[number] for number in state.contenders]
    done = min(len(trial.of("race")) for trial in contenders)
    if done >= 2:
        contenders = _by_median(state, contenders)
        if done < len(seeds):
            contenders = contenders[: max(2, round(len(contenders) * _KEPT))]
            state.contenders = [trial.number for trial in contenders]
    if done == len(seeds):
        state.winner = _by_median(state, contenders)[0].number
        state.stage = "test"
        return []
    return _added(state, contenders, seeds[done], "race")


def test_runs(state: SweepState) -> list[RunRecord]:
    """The runs of winner and baseline on seeds that nothing was chosen by; empty when they have been made."""
    assert state.winner is not None
    tested = {state.winner: state.trials[state.winner]}
    if state.baseline is not None:
        tested[state.baseline.number] = state.baseline
    if any(trial.of("test") for trial in tested.values()):
        state.stage = "done"
        return []
    seeds = state.plan.seeds.of_test()
    made = [run for seed in seeds for run in _added(state, list(tested.values()), seed, "test")]
    if not made:
        state.stage = "done"
    return made


def _added(state: SweepState, trials: list[TrialRecord], seed: int, stage: str) -> list[RunRecord]:
    made = []
    for trial in trials:
        run = new_run(state, trial, seed, stage)
        trial.runs.append(run)
        made.append(run)
    return made


def _by_median(state: SweepState, trials: list[TrialRecord]) -> list[TrialRecord]:
    """The best first; one that failed on a seed is behind all others."""
    sign = state.plan.objective.sign

    def worth(trial: TrialRecord) -> tuple[float, float, float]:
        values = [sign * value for value in trial.values("race")]
        failed = len(trial.of("race")) - len(values)
        if not values:
            return -failed, float("-inf"), float("-inf")
        return -failed, statistics.median(values), statistics.fmean(values)

    return sorted(trials, key=worth, reverse=True)
