"""What a sweep says of its winner: no more than the test shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gymnast.sweeps.objective import Objective
from gymnast.sweeps.plan import Plan
from gymnast.sweeps.results import verdict
from gymnast.sweeps.space import Space
from gymnast.sweeps.state import RunRecord, SweepState, TrialRecord

Values = Sequence[float | None]


def trial_of(number: int, values: Values) -> TrialRecord:
    trial = TrialRecord(number, "random" if number else "baseline", {}, {})
    trial.runs = [
        RunRecord(f"t-{number}-{seed}", seed, "test", "failed" if value is None else "finished", value=value)
        for seed, value in enumerate(values)
    ]
    return trial


def words(preset: Values, other: Values, name: str = "score_auc", goal: str = "maximize") -> str:
    plan = Plan("CartPole-v1:ppo", "random", 2, Space({}), Objective(name, goal), 1000)  # type: ignore[arg-type]
    state = SweepState("abc", plan, "", stage="done", winner=1)
    state.trials = [trial_of(0, preset), trial_of(1, other)]
    return verdict(state).text


LOW, HIGH = (1.0, 2.0, 3.0, 4.0, 5.0), (11.0, 12.0, 13.0, 14.0, 15.0)


@pytest.mark.parametrize(
    ("preset", "other", "said"),
    [
        (LOW, HIGH, "trial 1 is better than the preset on the test seeds; the interval"),
        (HIGH, LOW, "trial 1 is worse than the preset"),
        (LOW, (1.0, 2.0, 3.5, 4.0, 5.0), "contains zero: no difference is shown"),
        (LOW, LOW, "trial 1 and the preset are equal on the test seeds (a run of it wins in 50% of pairs)"),
        ((), (), "there was no test on seeds of its own"),
    ],
)
def test_winner_and_preset(preset: Values, other: Values, said: str) -> None:
    assert said in words(preset, other)


def test_fewer_steps_are_better() -> None:
    assert "trial 1 is worse" in words(LOW, HIGH, "steps_to_threshold", "minimize")
    assert "trial 1 and the preset are equal" in words(LOW, LOW, "steps_to_threshold", "minimize")


def test_runs_that_failed_are_not_passed_over_in_silence() -> None:
    some = words(LOW, (None, *HIGH[1:]))
    assert some.endswith("; test runs that failed are left out: 1 of 5 of trial 1")
    assert words(LOW, (None,) * 5) == "test runs that failed are left out: 5 of 5 of trial 1"
