"""Distributions over a run as pictures: bands of quantiles, and shares of actions on top of each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.charts.picture import Series, line_chart
from gymnast.metrics.sinks.distributions_file import QUANTILES
from gymnast.observe.distributions import Distributions, read_distributions
from gymnast.runs.store import RunFolder
from gymnast.terminal.text import escaped

_MOST_ACTIONS, _MOST_COMPONENTS = 8, 6  # in one picture; of more actions, the rest are one
_TITLES = {
    "reward": "Reward of a step",
    "return": "Return, last 100 episodes",
    "advantage": "Advantage, before normalisation",
    "value": "Value estimate",
    "target": "Value target",
}


def distribution_pictures(run: RunFolder) -> dict[str, np.ndarray]:
    """Pictures [height, width, 3] by the name of what they show; none if nothing was observed."""
    found = read_distributions(run)
    pictures: dict[str, np.ndarray] = {}
    if not len(found):
        return pictures
    for name in ("action/count", "action/probability"):
        if _has(found, name, 2):
            pictures[name] = _shares(found, name)
    if _has(found, "action/quantiles", 3, len(QUANTILES)):
        pictures["action/quantiles"] = _components(found)
    for name, title in _TITLES.items():
        if _has(found, name, 2, len(QUANTILES)):
            pictures[name] = _bands(found, found.arrays[name], title)
    if _has(found, "obs/mean", 2) and _has(found, "obs/std", 2, found.arrays["obs/mean"].shape[1]):
        pictures["obs"] = _observations(found)
    return pictures


def _has(found: Distributions, name: str, ndim: int, last: int | None = None) -> bool:
    """Whether there is such an array; a file from elsewhere may hold anything under its name."""
    array = found.arrays.get(name)
    return array is not None and array.ndim == ndim and last in (None, array.shape[-1])


def _bands(found: Distributions, quantiles: np.ndarray, title: str) -> np.ndarray:
    """Quantiles [R, 21] as the median in three bands."""
    x, median = found.env_steps, quantiles[:, 10]
    bands = [
        Series("median, half of all around it", x, median, quantiles[:, 5], quantiles[:, 15]),
        Series("90 %", x, np.full(len(x), np.nan), quantiles[:, 1], quantiles[:, 19]),
        Series("all", x, np.full(len(x), np.nan), quantiles[:, 0], quantiles[:, 20]),
    ]
    return line_chart(bands, title=title, x_label="env steps")


def _shares(found: Distributions, name: str) -> np.ndarray:
    values = found.arrays[name].astype(np.float64)
    with np.errstate(all="ignore"):
        shares = values / np.maximum(values.sum(1, keepdims=True), 1e-9)
    names = list(_names(found, name, "action", shares.shape[1]))
    if shares.shape[1] > _MOST_ACTIONS:
        order = np.argsort(-shares.sum(0), kind="stable")
        most, rest = order[: _MOST_ACTIONS - 1], order[_MOST_ACTIONS - 1 :]
        shares = np.concatenate([shares[:, most], shares[:, rest].sum(1, keepdims=True)], 1)
        names = [names[index] for index in most] + ["all others"]
    top = shares.cumsum(1)
    areas = [
        Series(label, found.env_steps, top[:, at], top[:, at] - shares[:, at], top[:, at])
        for at, label in enumerate(names)
    ]
    title = "Actions taken" if name == "action/count" else "Mean probability of actions"
    return line_chart(areas, title=f"{title}, shares on top of each other", x_label="env steps")


def _components(found: Distributions) -> np.ndarray:
    """Medians of continuous actions, and where half of them lie."""
    quantiles = found.arrays["action/quantiles"][:, :_MOST_COMPONENTS]
    names = _names(found, "action/quantiles", "action", quantiles.shape[1])
    curves = [
        Series(label, found.env_steps, quantiles[:, at, 10], quantiles[:, at, 5], quantiles[:, at, 15])
        for at, label in enumerate(names)
    ]
    return line_chart(curves, title="Actions: median, and where half of them lie", x_label="env steps")


def _observations(found: Distributions) -> np.ndarray:
    mean, std = (found.arrays[name][:, :_MOST_COMPONENTS] for name in ("obs/mean", "obs/std"))
    names = _names(found, "obs/mean", "component", mean.shape[1])
    curves = [
        Series(
            label,
            found.env_steps,
            mean[:, at],
            mean[:, at] - std[:, at],
            mean[:, at] + std[:, at],
        )
        for at, label in enumerate(names)
    ]
    return line_chart(curves, title="Observations: mean ± std", x_label="env steps")


def _names(found: Distributions, name: str, what: str, count: int) -> Sequence[str]:
    labels = found.labels.get(name, ())
    if len(labels) < count:
        return [f"{what} {index}" for index in range(count)]
    return [escaped(label) for label in labels[:count]]
