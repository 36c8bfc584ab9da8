from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gymnast.config.schedules import Schedule, scheduled

numbers = st.floats(1e-6, 1e3)
totals = st.integers(1, 10**8)
ramps = st.builds(
    lambda kind, start, end, begin, length: Schedule(
        kind=kind, start=start, end=end, begin=begin, until=begin + length
    ),
    st.sampled_from(["linear", "cosine", "exponential"]),
    numbers,
    numbers,
    st.floats(0, 0.5),
    st.floats(0.01, 0.5),
)
points = st.builds(
    lambda where, values, how: Schedule(
        points=list(zip(sorted(where), values, strict=True)), interpolation=how
    ),
    st.sets(st.floats(0, 1, width=32), min_size=5, max_size=5),
    st.lists(numbers, min_size=5, max_size=5),
    st.sampled_from(["linear", "step", "cosine"]),
)


@given(st.one_of(ramps, points), totals, st.floats(0, 2))
def test_values_stay_within_the_bounds(schedule: Schedule, total: int, where: float) -> None:
    low, high = schedule.bounds()
    assert low <= schedule.at(int(where * total), total) <= high


@given(ramps, totals)
def test_a_ramp_hits_both_ends_exactly(schedule: Schedule, total: int) -> None:
    assert schedule.at(0, total) == pytest.approx(schedule.start)
    assert schedule.at(total, total) == schedule.end
    assert schedule.at(2 * total, total) == schedule.end


@given(ramps, totals, st.lists(st.floats(0, 1), min_size=2, max_size=10))
def test_a_ramp_moves_one_way(schedule: Schedule, total: int, where: list[float]) -> None:
    values = [schedule.at(int(x * total), total) for x in sorted(where)]
    ordered = values if (schedule.end or 0) >= (schedule.start or 0) else values[::-1]
    for earlier, later in itertools.pairwise(ordered):
        assert later >= earlier - 1e-9 * abs(earlier)


@given(st.one_of(ramps, points), totals, st.integers(0, 10**8))
def test_the_value_depends_on_the_counters_alone(schedule: Schedule, total: int, env_steps: int) -> None:
    """What a resumed run relies on: nothing that was asked before changes the answer."""
    first = schedule.at(env_steps, total)
    for other in (0, total, env_steps + 1):
        schedule.at(other, total)
    again = Schedule.model_validate(schedule.model_dump())
    assert schedule.at(env_steps, total) == first == again.at(env_steps, total)


@given(st.dictionaries(st.integers(2, 10**8), numbers, min_size=1, max_size=6), totals)
def test_points_are_met(points: dict[int, float], total: int) -> None:
    for how in ("linear", "step", "cosine"):
        schedule = Schedule(points=sorted(points.items()), interpolation=how)
        for at, value in points.items():
            assert schedule.at(at, total) == pytest.approx(value)


def test_points_between() -> None:
    linear = Schedule.model_validate([[0, 1.0], [0.5, 3.0], [1, 3.0]])
    assert [linear.at(s, 100) for s in (0, 25, 50, 75, 100, 200)] == [1, 2, 3, 3, 3, 3]
    step = Schedule(points=((0, 1.0), (0.5, 3.0)), interpolation="step")
    assert [step.at(s, 100) for s in (0, 49, 50, 100)] == [1, 1, 3, 3]
    cosine = Schedule(points=((0, 0.0), (1, 1.0)), interpolation="cosine")
    assert cosine.at(50, 100) == pytest.approx(0.5)
    assert cosine.at(25, 100) == pytest.approx(0.5 - 0.5 * math.cos(math.pi / 4))


def test_points_may_mix_fractions_and_steps() -> None:
    mixed = Schedule.model_validate([[0, 4.0], ["20k", 2.0], [1, 1.0]])
    assert [mixed.at(s, 100_000) for s in (0, 10_000, 20_000, 60_000, 100_000)] == [4, 3, 2, 1.5, 1]
    # A budget shorter than the step: the steps keep their place, what lies before them is passed over.
    assert mixed.at(10_000, 10_000) == 3


def test_positions_in_steps_and_the_floor() -> None:
    schedule = Schedule(kind="linear", start=1, end=0, begin=1000, until=2000, floor=0.25)
    assert [schedule.at(s, 10**6) for s in (0, 1000, 1500, 2000, 10**6)] == [1, 1, 0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("written", "kind", "middle"),
    [
        (0.5, "constant", 0.5),
        ("1e-3", "constant", 1e-3),
        ({"start": 1, "end": 0}, "linear", 0.5),
        ({"kind": "cosine", "start": 1, "end": 0}, "cosine", 0.5),
        ({"kind": "exponential", "start": 1, "end": 0.01}, "exponential", 0.1),
        ({"points": [[0, 1], [1, 0]]}, "points", 0.5),
        ([[0, 1], ["1M", 0]], "points", 0.5),
        ({"start": 1, "end": 0, "until": "1M"}, "linear", 0.5),
    ],
)
def test_short_forms(written: Any, kind: str, middle: float) -> None:
    schedule = Schedule.model_validate(written)
    assert schedule.kind == kind
    assert schedule.at(500_000, 1_000_000) == pytest.approx(middle)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"kind": "linear", "start": 1}, "a linear schedule needs end"),
        ({"kind": "linear", "end": 1}, "a linear schedule needs start"),
        ({"kind": "constant", "start": 1, "end": 2}, "a constant schedule takes no end; write kind: linear"),
        ({"kind": "linear", "start": 1, "end": 2, "points": [[0, 1]]}, "a linear schedule takes no points"),
        ({"kind": "points", "points": [[0, 1]], "start": 2}, "a points schedule takes no start"),
        ({"kind": "exponential", "start": 1, "end": 0}, "needs start and end above 0"),
        ({"points": []}, "needs at least one"),
        ({"points": [[0.5, 1], [0.2, 2]]}, "points must be in order: 0.2 comes after 0.5"),
        ({"points": [["10k", 1], ["5k", 2]]}, "points must be in order: 5000 comes after 10000"),
        ({"points": [[0, 1], [0, 2]]}, "points must be in order"),
        ({"points": [1, 2]}, r"must be a list of \[where, value\] pairs, got 1"),
        ({"points": [[-0.5, 2]]}, "points lie at 0 or later, got -0.5"),
        ({"start": 1, "end": 0, "begin": 0.5, "until": 0.5}, "begin and until must be in order"),
        ("fast", "must be a number or a schedule, got 'fast'"),
        (True, "must be a number or a schedule, got True"),
        ({"start": float("nan")}, "finite number"),
    ],
)
def test_schedules_that_make_no_sense(written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Schedule.model_validate(written)


@pytest.mark.parametrize(
    ("kind", "written", "message"),
    [
        (scheduled(0, 1), 1.5, r"must stay within \[0, 1\], got 1.5"),
        (scheduled(0, 1), {"start": 0.5, "end": 2}, r"must stay within \[0, 1\], got 0.5…2"),
        (scheduled(0), -1, "must be at least 0, got -1"),
        (scheduled(high=3), 4, "must be at most 3, got 4"),
        (scheduled(1, 100, whole=True), 2.5, "must be a whole number, got 2.5"),
        (scheduled(1, 100, whole=True), {"start": 10, "end": 2.5}, "must be a whole number, got 2.5"),
    ],
)
def test_ranges_hold_over_the_whole_schedule(kind: Any, written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(kind).validate_python(written)


@given(st.one_of(ramps, points, numbers.map(lambda n: Schedule(start=n))))
def test_what_is_written_reads_back_equal(schedule: Schedule) -> None:
    adapter: TypeAdapter[Schedule] = TypeAdapter(scheduled())
    assert adapter.validate_python(adapter.dump_python(schedule)) == schedule
    assert adapter.validate_json(adapter.dump_json(schedule)) == schedule
