"""Groups of seeds in numbers: what each reached, whether one is better than another, and how they learned."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gymnast.runs import statistics
from gymnast.runs.curves import Curve
from gymnast.runs.groups import Grouping
from gymnast.runs.statistics import FEWEST, Interval

_PLACES = 100  # of a curve on a common grid
_LEVELS = np.linspace(0.0, 1.0, 101)
_MOST_PAIRED = 4  # groups: of more, each is compared with the first alone


@dataclass(frozen=True, slots=True)
class Sample:
    """What a group's statistics need of one run."""

    place: int  # in the sequence of runs
    env: str
    score: float | None
    normalised: float | None  # (score - start) / (threshold - start)
    threshold: float | None
    steps_to_threshold: float | None
    area: float | None
    curve: Curve


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The scores of a group in one env; of all envs together (env None) they are normalised ones."""

    env: str | None
    runs: int
    seeds: int  # the fewest of any env
    scores: tuple[float, ...]
    iqm: float
    interval: Interval | None
    median: float
    median_interval: Interval | None
    optimality_gap: float | None
    gap_interval: Interval | None
    reached: int | None = None  # how many runs reached the threshold
    steps_to_threshold: float | None = None  # the median; None if half of the runs did not reach it
    area: float | None = None  # the interquartile mean of the runs' areas

    @property
    def caveat(self) -> str:
        """What must be said of the interval."""
        if self.interval is None:
            return f"too few seeds ({self.seeds}) for an interval"
        return "approximate" if self.interval.approximate else ""


@dataclass(frozen=True, slots=True)
class GroupCurve:
    """The interquartile mean of one group in one env on a common grid; NaN ends where seeds are too few."""

    env: str
    x: tuple[float, ...]
    iqm: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """The share of runs whose normalised score is above each level."""

    levels: tuple[float, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    settings: dict[str, Any]
    runs: tuple[str, ...]  # ids
    envs: tuple[Aggregate, ...]  # one for each env, then one for all if there are several
    curves: tuple[GroupCurve, ...]
    profile: Profile | None  # of several envs


@dataclass(frozen=True, slots=True)
class Difference:
    """One group against another, in one env or (None) in all that both have."""

    first: str
    second: str
    env: str | None
    seeds: int  # of the group with fewer
    iqm_difference: float  # first - second
    interval: Interval | None
    probability: float  # of improvement: that a run of the first does better than one of the second
    probability_interval: Interval | None
    better: str | None  # which way the metric is better: higher, lower

    def verdict(self, first: str = "", second: str = "") -> str:
        """In words, by other names if given: "better" only where the interval excludes zero."""
        if self.interval is None:
            return f"no difference shown: too few seeds ({self.seeds}, an interval needs {FEWEST})"
        if not self.interval.excludes_zero:
            return "no difference shown"
        above, below = first or self.first, second or self.second
        if (self.iqm_difference < 0) != (self.better == "lower"):
            above, below = below, above
        words = f"{above} is {'higher' if self.better is None else 'better'} than {below}"
        return f"{words} (approximate: {self.seeds} seeds)" if self.interval.approximate else words

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict()}


def build_group(
    grouping: Grouping, ids: Sequence[str], samples: Sequence[Sample], axis: str, ends: dict[str, float]
) -> Group:
    """`ends` is how far the common grid of each env goes."""
    own = [sample for sample in samples if sample.place in grouping.members]
    envs = list(dict.fromkeys(sample.env for sample in samples))
    parts = [_in_env(own, env) for env in envs]
    together, several = [part for part in parts if part is not None], None
    profile = None
    if len(envs) > 1:
        scores = _normalised(own)
        if len(scores) > 1:
            seeds = _seeds([sample for sample in own if sample.normalised is not None])
            several = _aggregate(None, list(scores.values()), seeds, 1.0)
            profile = _profile(list(scores.values()), seeds)
    return Group(
        name=grouping.name,
        settings=grouping.settings,
        runs=tuple(ids[place] for place in grouping.members),
        envs=(*together, *([several] if several is not None else [])),
        curves=tuple(
            curve for env in envs if (curve := _curve(own, env, axis, ends.get(env, 0.0))) is not None
        ),
        profile=profile,
    )


def differences(
    groupings: Sequence[Grouping], samples: Sequence[Sample], better: str | None
) -> list[Difference]:
    """Each pair of groups; of many groups each with the first."""
    envs = list(dict.fromkeys(sample.env for sample in samples))
    pairs = list(combinations(groupings, 2))
    if len(groupings) > _MOST_PAIRED:
        pairs = [(groupings[0], other) for other in groupings[1:]]
    found = []
    for first, second in pairs:
        mine, theirs = ([s for s in samples if s.place in one.members] for one in (first, second))
        for env in [*envs, None] if len(envs) > 1 else envs:
            difference = _difference(first.name, second.name, mine, theirs, env, better)
            if difference is not None:
                found.append(difference)
    return found


def _difference(
    first: str, second: str, mine: list[Sample], theirs: list[Sample], env: str | None, better: str | None
) -> Difference | None:
    if env is None:
        ours, others = _normalised(mine), _normalised(theirs)
        both = [name for name in ours if name in others]
        strata, against = [ours[name] for name in both], [others[name] for name in both]
        kept = [[s for s in side if s.env in both and s.normalised is not None] for side in (mine, theirs)]
    else:
        kept = [[s for s in side if s.env == env and s.score is not None] for side in (mine, theirs)]
        both = [env] if all(kept) else []
        strata, against = ([_array([s.score for s in side])] for side in kept)
    if len(both) < (2 if env is None else 1):
        return None
    seeds = min(_seeds(side) for side in kept)
    sides = (against, strata) if better == "lower" else (strata, against)
    return Difference(
        first,
        second,
        env,
        seeds,
        statistics.iqm(strata) - statistics.iqm(against),
        statistics.difference_interval(strata, against, seeds),
        statistics.probability_of_improvement(*sides),
        statistics.improvement_interval(*sides, seeds),
        better,
    )


def _in_env(own: Sequence[Sample], env: str) -> Aggregate | None:
    there = [sample for sample in own if sample.env == env and sample.score is not None]
    if not there:
        return None
    target = there[0].threshold
    steps = [math.inf if s.steps_to_threshold is None else s.steps_to_threshold for s in there]
    middle = float(np.median(steps)) if target is not None else math.inf
    areas = [sample.area for sample in there if sample.area is not None]
    return _aggregate(
        env,
        [_array([sample.score for sample in there])],
        _seeds(there),
        target,
        reached=None if target is None else sum(map(math.isfinite, steps)),
        steps_to_threshold=middle if math.isfinite(middle) else None,
        area=statistics.iqm([np.array(areas)]) if areas else None,
    )


def _aggregate(
    env: str | None, scores: list[np.ndarray], seeds: int, target: float | None, **more: Any
) -> Aggregate:
    return Aggregate(
        env=env,
        runs=sum(len(values) for values in scores),
        seeds=seeds,
        scores=tuple(float(value) for values in scores for value in values),
        iqm=statistics.iqm(scores),
        interval=statistics.iqm_interval(scores, seeds),
        median=statistics.median(scores),
        median_interval=statistics.median_interval(scores, seeds),
        optimality_gap=None if target is None else statistics.optimality_gap(scores, target),
        gap_interval=None if target is None else statistics.gap_interval(scores, target, seeds),
        **more,
    )


def _normalised(own: Sequence[Sample]) -> dict[str, np.ndarray]:
    """The normalised scores of each env that has any."""
    envs = dict.fromkeys(sample.env for sample in own if sample.normalised is not None)
    return {env: _array([s.normalised for s in own if s.env == env]) for env in envs}


def _array(values: Sequence[float | None]) -> np.ndarray:
    return np.array([value for value in values if value is not None], np.float64)


def _seeds(samples: Sequence[Sample]) -> int:
    """The fewest runs of any env."""
    return min(Counter(sample.env for sample in samples).values(), default=0)


def _curve(own: Sequence[Sample], env: str, axis: str, end: float) -> GroupCurve | None:
    """Interpolated, because runs are evaluated at different moments."""
    there = [sample for sample in own if sample.env == env and len(sample.curve.y)]
    if not there or not end > 0:
        return None
    places = np.linspace(0.0, end, _PLACES)
    curves = np.array([sample.curve.at(axis, places) for sample in there])
    middle, low, high = statistics.iqm_curve(curves, _seeds(there))
    return GroupCurve(
        env, *(tuple(float(value) for value in values) for values in (places, middle, low, high))
    )


def _profile(scores: list[np.ndarray], seeds: int) -> Profile:
    ends = statistics.profile_interval(scores, _LEVELS, seeds)
    low, high = (None, None) if ends is None else (tuple(end.tolist()) for end in ends)
    return Profile(tuple(_LEVELS.tolist()), tuple(statistics.profile(scores, _LEVELS).tolist()), low, high)
