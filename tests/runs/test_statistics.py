"""Statistics of seeds against the numbers of rliable 1.2.0, and the laws they obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.runs import statistics
from gymnast.runs.statistics import (
    Interval,
    difference_interval,
    gap_interval,
    improvement_interval,
    iqm,
    iqm_curve,
    iqm_interval,
    median,
    median_interval,
    optimality_gap,
    probability_of_improvement,
    profile,
    profile_interval,
)

# What rliable 1.2.0 gives (with arch 7.2.0, pandas 2, scipy 1.17), in an environment of its own:
#   aggregates = lambda x: np.array([metrics.aggregate_iqm(x), metrics.aggregate_median(x),
#                                    metrics.aggregate_optimality_gap(x, target)])
#   library.get_interval_estimates({"a": a, "b": b}, aggregates, reps=50000, random_state=RandomState(0))
#   library.get_interval_estimates({"ab": (a, b)}, metrics.probability_of_improvement, reps=2000, …)
#   library.create_performance_profile({"a": THREE_A}, np.linspace(0, 1, 5), reps=2000)
ONE_A = np.array([[300.1, 323.9, 278.1, 228.8, 263.6, 220.7, 304.8, 407.2, 260.6, 250.4]])
ONE_B = np.array([[389.4, 381.4, 366.3, 304.2, 358.2, 401.7, 279.3, 332.5]])
THREE_A = np.array(
    [[0.12, 0.77, -0.35], [0.45, 0.77, 0.28], [0.53, 0.88, -0.56], [0.39, 0.9, 0.23], [0.19, 0.85, -0.09],
     [0.34, 1.01, -0.04]]
).T  # fmt: skip
THREE_B = np.array(
    [[0.59, 0.99, 0.04], [0.58, 0.91, 0.11], [0.35, 0.91, 0.24], [0.29, 0.99, 0.11], [0.47, 1.1, 0.18],
     [0.36, 0.91, 0.16], [0.56, 0.97, 0.09]]
).T  # fmt: skip
Case = tuple[np.ndarray, float, float, float, float, tuple[float, float], tuple[float, float]]
CASES: dict[str, Case] = {
    # scores, target, IQM, median (of the envs' means), gap, interval of the IQM, interval of the gap
    "one a": (ONE_A, 475.0, 276.266667, 283.82, 191.18, (247.95, 313.566667), (157.03, 220.07)),
    "one b": (ONE_B, 475.0, 359.6, 351.625, 123.375, (317.275, 385.4), (97.1, 152.4375)),
    "three a": (THREE_A, 1.0, 0.407, 0.336667, 0.63, (0.311, 0.476), (0.542222, 0.721111)),
    "three b": (THREE_B, 1.0, 0.494545, 0.457143, 0.485238, (0.438182, 0.548182), (0.451905, 0.519048)),
}
MEDIAN_INTERVALS = {"three a": (0.221667, 0.448333), "three b": (0.371429, 0.54)}


def near(interval: Interval | None, expected: tuple[float, float], tolerance: float) -> bool:
    assert interval is not None
    return abs(interval.low - expected[0]) < tolerance and abs(interval.high - expected[1]) < tolerance


@pytest.mark.parametrize("name", CASES)
def test_aggregates_are_those_of_rliable(name: str) -> None:
    scores, target, middle, of_means, gap, middle_interval, gap_bounds = CASES[name]
    spread = middle_interval[1] - middle_interval[0]
    assert iqm(scores) == pytest.approx(middle, abs=1e-6)
    assert optimality_gap(scores, target) == pytest.approx(gap, abs=1e-6)
    # Two bootstraps of this size differ by about 1 % of the interval.
    assert near(iqm_interval(scores), middle_interval, 0.03 * spread)
    assert near(gap_interval(scores, target), gap_bounds, 0.03 * (gap_bounds[1] - gap_bounds[0]))
    if name in MEDIAN_INTERVALS:
        assert median(scores) == pytest.approx(of_means, abs=1e-6)
        bounds = MEDIAN_INTERVALS[name]
        assert near(median_interval(scores), bounds, 0.03 * (bounds[1] - bounds[0]))
    else:  # of one env rliable's median of means is the mean, ours the median
        assert median(scores) == np.median(scores)


def test_probability_of_improvement_is_that_of_rliable() -> None:
    assert probability_of_improvement(ONE_A, ONE_B) == pytest.approx(0.1625)
    assert near(improvement_interval(ONE_A, ONE_B), (0.0, 0.375), 0.026)
    assert probability_of_improvement(THREE_A, THREE_B) == pytest.approx(0.238095, abs=1e-6)
    assert near(improvement_interval(THREE_A, THREE_B), (0.071429, 0.428571), 0.026)


def test_profile_is_that_of_rliable() -> None:
    expected = [0.777778, 0.611111, 0.388889, 0.333333, 0.055556]
    assert profile(THREE_A, np.linspace(0, 1, 5)) == pytest.approx(expected, abs=1e-6)
    ends = profile_interval(THREE_A, np.linspace(0, 1, 5))
    assert ends is not None
    assert ends[0] == pytest.approx([0.666667, 0.444444, 0.333333, 0.333333, 0.0], abs=0.06)
    assert ends[1] == pytest.approx([0.888889, 0.777778, 0.5, 0.333333, 0.166667], abs=0.06)


SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=23).map(np.array)


@settings(max_examples=100, deadline=None)
@given(SCORES, SCORES)
def test_laws_of_the_measures(first: np.ndarray, second: np.ndarray) -> None:
    cut = int(0.25 * len(first))
    assert iqm([first]) == pytest.approx(np.sort(first)[cut : len(first) - cut].mean())
    wins, losses = (
        probability_of_improvement([first], [second]),
        probability_of_improvement([second], [first]),
    )
    assert wins + losses == pytest.approx(1.0)
    assert probability_of_improvement([first], [first]) == pytest.approx(0.5)
    assert optimality_gap([first], float(first.min()) - 1) == pytest.approx(0.0, abs=1e-6)
    shares = profile([first, second], np.linspace(-1e6, 1e6, 9))
    assert (np.diff(shares) <= 0).all()


def test_intervals_need_seeds_and_say_when_they_are_few() -> None:
    scores = np.random.default_rng(1).normal(size=20)
    assert iqm_interval([scores[:4]]) is None
    assert difference_interval([scores], [scores[:3]]) is None
    for count, approximate in ((5, True), (9, True), (10, False), (20, False)):
        interval = iqm_interval([scores[:count]])
        assert interval is not None
        assert interval.approximate is approximate
        assert interval.low <= iqm([scores[:count]]) <= interval.high
        assert iqm_interval([scores[:count]]) == interval  # the same every time
    assert iqm_interval([scores, scores[:4]]) is None  # one env has too few
    assert iqm_interval([scores], seeds=3) is None  # 20 runs of 3 seeds are 3 samples


def test_a_difference_is_shown_only_where_there_is_one() -> None:
    rng = np.random.default_rng(2)
    low, high = rng.normal(100, 10, 10), rng.normal(150, 10, 10)
    up, down = difference_interval([high], [low]), difference_interval([low], [high])
    assert up is not None
    assert down is not None
    assert up.low > 30
    assert down.high < -30
    assert up.excludes_zero
    assert down.excludes_zero
    same = difference_interval([low], [rng.normal(100, 10, 10)])
    assert same is not None
    assert not same.excludes_zero


def test_a_curve_has_the_interquartile_mean_at_every_place() -> None:
    curves = np.random.default_rng(3).normal(size=(8, 30)).cumsum(1)
    middle, low, high = iqm_curve(curves)
    assert middle == pytest.approx([iqm([curves[:, place]]) for place in range(30)])
    assert (low <= middle).all()
    assert (middle <= high).all()
    one = iqm_interval([curves[:, 7]])
    assert one is not None
    assert low[7] == pytest.approx(one.low, abs=0.15 * (one.high - one.low))
    assert np.isnan(iqm_curve(curves[:4])[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "expected"), [(3, 0.76), (5, 0.90), (10, 0.93), (20, 0.95)])
def test_coverage_of_the_interval_is_what_the_module_says(
    seeds: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 1000)
    monkeypatch.setattr(statistics, "FEWEST", 1)
    rng = np.random.default_rng(seeds)
    held = 0
    for _ in range(2000):
        interval = iqm_interval([rng.normal(size=seeds)])
        assert interval is not None
        held += interval.low <= 0 <= interval.high
    assert held / 2000 == pytest.approx(expected, abs=0.025)
