"""Statistics of a handful of seeds: interquartile mean, median, optimality gap, probability of improvement,
performance profile, each with a stratified bootstrap interval.

Scores come as one array per env (a stratum): seeds are resampled within their env. The measures are those of
Agarwal et al. 2021, "Deep RL at the edge of the statistical precipice" (arXiv 2108.13264).

The interval of few seeds is too narrow: of normal scores the "95 %" interval of the interquartile mean
contains the true one in about 76 % of cases with 3 seeds, 90 % with 5, 93 % with 10 and 95 % with 20. So none
is given for fewer than FEWEST, and it is called approximate for fewer than ENOUGH.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Strata = Sequence[np.ndarray]  # the scores of each env
Measure = Callable[[list[np.ndarray]], np.ndarray]  # of resamples [R, n] of each env: R numbers

FEWEST, ENOUGH = 5, 10  # seeds
RESAMPLES = 20_000
_PROFILE_RESAMPLES = 2_000
PERCENTILES = (2.5, 97.5)
_AT_ONCE = 2_000_000  # numbers held at a time


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % bootstrap interval."""

    low: float
    high: float
    approximate: bool  # of so few seeds that it is too narrow

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def iqm(scores: Strata) -> float:
    """Interquartile mean: of all scores without the lowest and highest int(n/4)."""
    return float(_iqm([values[None] for values in scores])[0])


def median(scores: Strata) -> float:
    """Of one env the median of its scores, of several the median of their means."""
    return float(_median([values[None] for values in scores])[0])


def optimality_gap(scores: Strata, target: float) -> float:
    """How far scores stay below `target` on average; what is above it does not make up for what is below."""
    return float(_gap(target)([values[None] for values in scores])[0])


def probability_of_improvement(scores: Strata, others: Strata) -> float:
    """How likely a random score is above a random one of the others (ties count half); the mean over envs."""
    wins = [_wins(mine, theirs).mean() for mine, theirs in zip(scores, others, strict=True)]
    return float(np.mean(wins))


def profile(scores: Strata, levels: np.ndarray) -> np.ndarray:
    """The share of scores above each level."""
    return (np.concatenate(list(scores))[:, None] > levels).mean(0)


def profile_interval(
    scores: Strata, levels: np.ndarray, seeds: int | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """The ends of the interval at each level; None if there are too few seeds."""
    if _seeds(scores, seeds) < FEWEST:
        return None
    rng = np.random.default_rng(0)
    above = np.zeros((_PROFILE_RESAMPLES, len(levels)))
    for values in scores:
        drawn = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), _PROFILE_RESAMPLES)
        above += drawn @ (values[:, None] > levels)
    low, high = np.percentile(above / sum(len(values) for values in scores), PERCENTILES, axis=0)
    return low, high


def iqm_interval(scores: Strata, seeds: int | None = None) -> Interval | None:
    return _interval(_resampled(scores, _iqm), _seeds(scores, seeds))


def median_interval(scores: Strata, seeds: int | None = None) -> Interval | None:
    return _interval(_resampled(scores, _median), _seeds(scores, seeds))


def gap_interval(scores: Strata, target: float, seeds: int | None = None) -> Interval | None:
    return _interval(_resampled(scores, _gap(target)), _seeds(scores, seeds))


def difference_interval(scores: Strata, others: Strata, seeds: int | None = None) -> Interval | None:
    """Of the difference of the two interquartile means; both sides are resampled."""
    mine, theirs = _resampled(scores, _iqm), _resampled(others, _iqm, seed=1)
    return _interval(mine - theirs, min(_seeds(scores, seeds), _seeds(others, seeds)))


def improvement_interval(scores: Strata, others: Strata, seeds: int | None = None) -> Interval | None:
    """Of the probability of improvement."""
    rng = np.random.default_rng(0)
    wins = []
    for mine, theirs in zip(scores, others, strict=True):
        # How often each score was drawn is all that counts.
        drawn = rng.multinomial(len(mine), np.full(len(mine), 1 / len(mine)), RESAMPLES)
        against = rng.multinomial(len(theirs), np.full(len(theirs), 1 / len(theirs)), RESAMPLES)
        total = ((drawn @ _wins(mine, theirs)) * against).sum(1)
        wins.append(total / (len(mine) * len(theirs)))
    return _interval(np.mean(wins, axis=0), min(_seeds(scores, seeds), _seeds(others, seeds)))


def iqm_curve(curves: np.ndarray, seeds: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one env's curves [n, K]: the interquartile mean at each place, and its interval (NaN if too few)."""
    count, places = curves.shape
    middle = _trimmed(curves, 0)
    if (count if seeds is None else seeds) < FEWEST:
        return middle, np.full(places, np.nan), np.full(places, np.nan)
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, count, (max(200, min(2000, _AT_ONCE // (count * places))), count))
    low, high = np.percentile(_trimmed(curves[chosen], 1), PERCENTILES, axis=0)
    return middle, low, high


def _trimmed(values: np.ndarray, axis: int) -> np.ndarray:
    count = values.shape[axis]
    cut = int(0.25 * count)
    kept = np.sort(values, axis=axis).take(np.arange(cut, count - cut), axis=axis)
    return np.asarray(kept.mean(axis))


def _iqm(resamples: list[np.ndarray]) -> np.ndarray:
    return _trimmed(np.concatenate(resamples, axis=1), 1)


def _median(resamples: list[np.ndarray]) -> np.ndarray:
    if len(resamples) == 1:
        return np.asarray(np.median(resamples[0], axis=1))
    return np.asarray(np.median([values.mean(1) for values in resamples], axis=0))


def _gap(target: float) -> Measure:
    def gap(resamples: list[np.ndarray]) -> np.ndarray:
        return np.asarray(target - np.minimum(np.concatenate(resamples, axis=1), target).mean(1))

    return gap


def _wins(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """1 where a score [n] is above another [m], 0.5 where they are equal."""
    above, equal = scores[:, None] > others, scores[:, None] == others
    return np.asarray(above + 0.5 * equal)


def _resampled(scores: Strata, measure: Measure, seed: int = 0) -> np.ndarray:
    """The measure of each of RESAMPLES draws, with replacement within each env."""
    rng = np.random.default_rng(seed)
    total = sum(len(values) for values in scores)
    found = [
        measure([values[rng.integers(0, len(values), (count, len(values)))] for values in scores])
        for count in _portions(max(1, _AT_ONCE // total))
    ]
    return np.concatenate(found)


def _portions(most: int) -> Iterator[int]:
    left = RESAMPLES
    while left > 0:
        yield min(most, left)
        left -= most


def _seeds(scores: Strata, seeds: int | None) -> int:
    return min(len(values) for values in scores) if seeds is None else seeds


def _interval(values: np.ndarray, seeds: int) -> Interval | None:
    if seeds < FEWEST:
        return None
    low, high = np.percentile(values, PERCENTILES)
    return Interval(float(low), float(high), seeds < ENOUGH)
