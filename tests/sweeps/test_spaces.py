"""Spaces: drawn values lie inside, and every way of writing a value leads back to it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.algorithms.table import ALGORITHMS
from gymnast.config.load import load_config
from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.errors import GymnastError
from gymnast.sweeps.default_space import default_space, own_values
from gymnast.sweeps.distributions import Beta, Normal, Quantised, fits, from_json, grid_of, to_json
from gymnast.sweeps.space import Space

UNITS = st.floats(0.0, 1.0)
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
POSITIVE = st.floats(1e-8, 1e6)


def ordered(numbers: Any) -> Any:
    return (
        st.tuples(numbers, numbers)
        .map(sorted)
        .filter(lambda ends: ends[1] - ends[0] > 1e-3 * abs(ends[1]) + 1e-9)
    )


COUNTS = st.tuples(st.integers(1, 500), st.integers(1, 500)).map(lambda ends: (ends[0], ends[0] + ends[1]))
RANGES = ordered(NUMBERS).map(lambda ends: Range(*ends))
LOGS = ordered(POSITIVE).map(lambda ends: LogRange(*ends))
WHOLE = COUNTS.map(lambda ends: Range(*ends, True))
WHOLE_LOGS = COUNTS.map(lambda ends: LogRange(*ends, True))
SHARES = st.tuples(st.floats(0.0, 0.98), st.floats(1e-4, 0.5)).map(
    lambda pair: OneMinusLog(pair[0], pair[0] + (1 - pair[0]) * (1 - pair[1]))
)
POWERS = st.tuples(st.integers(0, 8), st.integers(1, 8)).map(lambda p: Pow2(2 ** p[0], 2 ** (p[0] + p[1])))
CHOICES = st.lists(st.one_of(st.integers(), st.text(max_size=5)), min_size=2, max_size=6, unique=True).map(
    lambda values: Choice(tuple(values))
)
STEPS = st.tuples(st.integers(0, 20), st.integers(1, 50), st.sampled_from([0.05, 0.5, 1.0, 5.0])).map(
    lambda n: Quantised(Range(n[0] * n[2], (n[0] + n[1]) * n[2]), n[2])
)
BOUNDED = st.one_of(RANGES, LOGS, WHOLE, WHOLE_LOGS, SHARES, POWERS, CHOICES, STEPS)


@given(BOUNDED, UNITS)
def test_values_lie_inside_and_lead_back(dimension: Any, unit: float) -> None:
    value = dimension.value(unit)
    assert fits(dimension, value)
    assert dimension.clip(value) == value
    again = dimension.value(dimension.unit(value))
    if isinstance(value, float):
        assert math.isclose(again, value, rel_tol=1e-6, abs_tol=1e-6)
    else:
        assert again == value
    assert -1e-9 <= dimension.unit(value) <= 1 + 1e-9


@given(BOUNDED, UNITS)
def test_optuna_sees_the_same_point(dimension: Any, unit: float) -> None:
    pytest.importorskip("optuna")
    from gymnast.sweeps.suggest.bayes import _axis_of

    axis, value = _axis_of(dimension), dimension.value(unit)
    place = axis.place(value)
    assert axis.distribution._contains(axis.distribution.to_internal_repr(place))
    again = axis.value(place)
    if isinstance(value, float):
        assert math.isclose(again, value, rel_tol=1e-9, abs_tol=1e-9)
    else:
        assert again == value


@given(st.one_of(BOUNDED, st.just(Normal(0.0, 1.0, True, 0.5)), st.just(Beta(2.0, 3.0))))
def test_json_gives_an_equal_dimension(dimension: Any) -> None:
    import json

    assert from_json(json.loads(json.dumps(to_json(dimension)))) == dimension


@given(RANGES, UNITS, UNITS)
def test_more_is_more(dimension: Any, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert dimension.value(low) <= dimension.value(high)


def test_gamma_is_searched_by_its_distance_from_one() -> None:
    gamma = OneMinusLog(0.9, 0.999)
    assert gamma.value(0.5) == pytest.approx(0.99)
    assert gamma.unit(0.99) == pytest.approx(0.5)


def test_weights_say_how_often_a_value_is_drawn() -> None:
    space = Space({"x": Choice(("rare", "often"), (0.1, 0.9))})
    drawn = [space.draw(0, trial)["x"] for trial in range(400)]
    assert 0.05 < drawn.count("rare") / len(drawn) < 0.16


def test_draws_depend_on_the_seed_alone() -> None:
    space = Space({"a": Range(0.0, 1.0), "b": LogRange(1e-4, 1.0)})
    assert space.draw(0, 3) == space.draw(0, 3) != space.draw(0, 4)


def test_a_grid_has_every_point_once() -> None:
    space = Space({"a": Choice((1, 2)), "b": Pow2(4, 16), "c": Quantised(Range(0.0, 0.5), 0.25)})
    points = list(space.grid())
    assert space.grid_size() == len(points) == 18
    assert len({tuple(point.items()) for point in points}) == 18


def test_a_grid_of_a_range_is_refused() -> None:
    with pytest.raises(GymnastError, match=r"algo\.lr: a grid needs a list of values"):
        Space({"algo.lr": LogRange(1e-4, 1e-2)}).grid_size()


@pytest.mark.parametrize("algo", [name for name in ALGORITHMS if name != "a2c"] + ["a2c"])
def test_every_algorithm_declares_what_may_be_searched(algo: str) -> None:
    config = load_config(f"CartPole-v1:{algo}").config
    space = default_space(config, 100_000)
    assert {"algo.gamma", "algo.entropy_coef"} <= set(space.dimensions)
    assert any(key.startswith("algo.lr") for key in space.dimensions)
    for trial in range(10):  # each can be trained
        load_config(f"CartPole-v1:{algo}", space.draw(0, trial))


def test_a_schedule_is_searched_by_where_it_starts() -> None:
    config = load_config("CartPole-v1:ppo").config
    space = default_space(config, 100_000)
    assert "algo.lr.start" in space.dimensions
    assert "algo.lr" not in space.dimensions
    own = own_values(config, space)
    assert own["algo.lr.start"] == 5e-3
    assert own["algo.batch_size"] == 0.25


def test_rollouts_leave_room_for_several_updates() -> None:
    steps = default_space(load_config("CartPole-v1:ppo").config, 50_000).dimensions["algo.n_steps"]
    assert grid_of(steps) == (16, 32, 64, 128)
