"""Histograms for trackers, from the distributions that observed updates keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

_QUANTILES = frozenset({"reward", "return", "advantage", "value", "target"})
_COUNTS, _REALS = "action/count", "action/quantiles"
SHOWN = _QUANTILES | {_COUNTS, _REALS}
_BINS = 32
_SAMPLES = 320  # that stand for a distribution of which quantiles are known
_MOST_REALS = 8  # components of an action


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of bins, and the edges between them: one more."""

    counts: list[float]
    edges: list[float]


def histograms(distributions: Mapping[str, Any], labels: Mapping[str, Sequence[str]]) -> dict[str, Histogram]:
    """By the key under which a tracker shows them."""
    made: dict[str, Histogram | None] = {}
    for name, values in distributions.items():
        if name in _QUANTILES:
            made[f"distribution/{name}"] = of_quantiles(values)
        elif name == _COUNTS:
            edges = [index - 0.5 for index in range(len(values) + 1)]
            made["distribution/action"] = Histogram(values, edges)
        elif name == _REALS:
            names = labels.get(_REALS, [str(index) for index in range(len(values))])
            for label, quantiles in list(zip(names, values, strict=False))[:_MOST_REALS]:
                made[f"distribution/action/{label}"] = of_quantiles(quantiles)
    return {key: histogram for key, histogram in made.items() if histogram is not None}


def of_quantiles(quantiles: Sequence[float]) -> Histogram | None:
    """A distribution of which quantiles at equal distances are known; None if there were no values."""
    if not all(map(isfinite, quantiles)):
        return None
    low, high = quantiles[0], quantiles[-1]
    width = (high - low) / _BINS
    if width <= 0:
        return Histogram([1.0], [low - 0.5, low + 0.5])
    counts = [0.0] * _BINS
    gaps = len(quantiles) - 1
    for sample in range(_SAMPLES):
        place, within = divmod((sample + 0.5) / _SAMPLES * gaps, 1.0)
        start, end = quantiles[int(place)], quantiles[int(place) + 1]
        value = start + within * (end - start)
        counts[min(_BINS - 1, int((value - low) / width))] += 1.0
    return Histogram(counts, [low + index * width for index in range(_BINS)] + [high])
