"""A network by part: how large weights, gradients and steps are, and whether hidden units still do something.

Definitions: dead units as in Moalla et al. (2024, arXiv:2405.00662); dormant units as in ReDo (Sokar et al.,
2023, arXiv:2302.12902, τ = 0.025); effective rank of Roy and Vetterli (2007) of the last hidden layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gymnast.policies.hidden import Hidden
from gymnast.policies.layout import PolicyLayout
from gymnast.policies.policy import Network

DORMANT, LEAST_STD, SATURATED = 0.025, 1e-3, 0.97
_HEADS = {"action_head": "actor", "value_head": "critic", "log_std_head": "log_std", "embedding": "encoder"}


def parts_of(layout: PolicyLayout) -> dict[str, list[slice]]:
    """Where each part's weights lie in the flat vector, neighbours joined."""
    parts: dict[str, list[slice]] = {}
    for name, span in layout.spans().items():
        first = name.partition(".")[0]
        spans = parts.setdefault(_HEADS.get(first, first), [])
        if spans and spans[-1].stop == span.start:
            spans[-1] = slice(spans[-1].start, span.stop)
        else:
            spans.append(span)
    return parts


def norms(vector: Any, parts: Mapping[str, Sequence[slice]]) -> dict[str, float]:
    """The norm of each part of a flat vector of either engine."""
    return {
        part: math.sqrt(sum(float(vector[span].dot(vector[span])) for span in spans))
        for part, spans in parts.items()
    }


class Weights:
    """The weights before an update, to be compared with what it made of them."""

    def __init__(self, network: Network, parts: Mapping[str, Sequence[slice]]) -> None:
        self._network, self._parts = network, parts
        own = network.parameters
        self._before = own.copy() if isinstance(own, np.ndarray) else own.clone()

    def metrics(self, steps: int, last_norm: float) -> dict[str, float]:
        """After that many gradient steps; `last_norm` is the last gradient's norm before it was clipped."""
        weights = norms(self._network.parameters, self._parts)
        metrics = {f"net/weight_norm/{part}": norm for part, norm in weights.items()}
        if not steps:
            return metrics
        before = norms(self._before, self._parts)
        moved = norms(self._network.parameters - self._before, self._parts)
        for part, distance in moved.items():
            # A std of 1 has the log 0: its steps have no size to be compared with. A head of its own starts
            # near 0, and grows as much as it should in its first update: the larger norm is the measure.
            size = max(before[part], weights[part])
            if part != "log_std" and size > 0:
                metrics[f"net/step_ratio/{part}"] = distance / size / steps
        gradients = norms(self._network.gradients, self._parts)  # as they were clipped, all by one factor
        clipped = math.sqrt(sum(norm * norm for norm in gradients.values()))
        scale = last_norm / clipped if clipped > 0 else 0.0
        return metrics | {f"opt/grad_norm/{part}": norm * scale for part, norm in gradients.items()}


def activation_metrics(layers: Sequence[Hidden]) -> dict[str, float]:
    """Shares of dead, dormant and saturated units by part, and the rank of each part's last layer."""
    units: dict[str, list[tuple[int, int, int]]] = {}  # by part, of each layer: all, dead, dormant
    tanh: dict[str, list[tuple[int, int]]] = {}  # likewise, its activations: all, saturated
    last: dict[str, Hidden] = {}
    for layer in layers:
        values, xp = layer.values, _module_of(layer.values)
        samples, n_units = (0, *range(2, values.ndim)), values.shape[1]
        n = math.prod(values.shape) // n_units
        sizes = abs(values)
        size = sizes.sum(samples)  # / n: no mean is taken where a sum does, which is faster on small arrays
        dormant = size <= size.sum() * (DORMANT / n_units)
        if layer.activation == "relu":
            dead = xp.amax(values, samples) <= 0
        else:
            centred = values - values.sum(samples, keepdims=True) / n
            dead = (centred * centred).sum(samples) < n * LEAST_STD**2
        counts = n_units, int(xp.count_nonzero(dead)), int(xp.count_nonzero(dormant))
        units.setdefault(layer.part, []).append(counts)
        if layer.activation == "tanh":
            beyond = n * n_units, int(xp.count_nonzero(sizes > SATURATED))
            tanh.setdefault(layer.part, []).append(beyond)
        last[layer.part] = layer
    metrics: dict[str, float] = {}
    for part, each in units.items():
        count, n_dead, n_dormant = map(sum, zip(*each, strict=True))
        metrics[f"net/dead/{part}"] = n_dead / count
        metrics[f"net/dormant/{part}"] = n_dormant / count
        if part in tanh:
            count, n_beyond = map(sum, zip(*tanh[part], strict=True))
            metrics[f"net/saturated/{part}"] = n_beyond / count
        if last[part].values.ndim == 2:
            metrics[f"net/rank/{part}"] = effective_rank(last[part].values)
    return {key: value for key, value in metrics.items() if math.isfinite(value)}


def effective_rank(values: Any) -> float:
    """exp of the entropy of the normalised singular values of activations [B, H]; 0 if all are 0."""
    rows = (values if isinstance(values, np.ndarray) else values.cpu().numpy()).astype(np.float64)
    if not np.isfinite(rows).all():
        return math.nan
    # The smaller of the two products has the same singular values, squared.
    product = rows.T @ rows if rows.shape[0] >= rows.shape[1] else rows @ rows.T
    squares = np.linalg.eigvalsh(product)
    # What rounding alone leaves of a squared singular value that is 0.
    squares = squares[squares > squares[-1] * len(product) * np.finfo(np.float64).eps]
    singular = np.sqrt(squares)
    shares = singular / singular.sum()
    return math.exp(-float((shares * np.log(shares)).sum())) if len(shares) else 0.0


def _module_of(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch
