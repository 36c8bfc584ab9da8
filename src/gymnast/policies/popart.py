"""PopArt: a value head that learns normalised targets (van Hasselt et al., 2016, arXiv:1602.07714).

The head gives v = (V - μ) / σ, with running mean μ and std σ of the targets, so that the critic's
errors have the same size whatever the env pays and however returns grow. When the statistics change,
the head's weights are changed the other way, so that V = σ v + μ stays the same for every state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Batch
    from gymnast.policies.layout import PolicyLayout

_LEAST_STD, _LARGEST_STD = 1e-4, 1e6  # as in the paper's experiments: a constant return has none


class PopArt:
    """Running moments of the value targets, and the head that follows them."""

    def __init__(self, layout: PolicyLayout, parameters: Any) -> None:
        self.rate = layout.config.popart_rate
        # Running sums of targets, of their squares, and of the weights in both; the last corrects the
        # start from 0, so that the first rollout's own moments are the first to be used.
        self.moments = np.zeros(3)
        self.mean, self.std = 0.0, 1.0
        # The first value head's row; further heads are not normalised.
        width, spans = layout.shapes()["value_head.weight"][1], layout.spans()
        weight, bias = spans["value_head.weight"].start, spans["value_head.bias"].start
        self._weights, self._bias = parameters[weight : weight + width], parameters[bias : bias + 1]

    def real(self, values: np.ndarray) -> np.ndarray:
        """V from v: [B], or the first row of [V, B]."""
        return _first(values, lambda first: first * np.float32(self.std) + np.float32(self.mean))

    def take(self, targets: np.ndarray) -> None:
        """Update the statistics with new targets, and the head's weights so that no value changes."""
        # The rate is of one sample: how fast statistics change does not depend on the rollout's size.
        share = 1.0 - (1.0 - self.rate) ** targets.size
        found = np.array([targets.mean(dtype=np.float64), np.square(targets, dtype=np.float64).mean(), 1.0])
        self.moments += share * (found - self.moments)
        mean, std = self.mean, self.std
        self._read()
        self._weights *= std / self.std  # eq. 9 of the paper
        self._bias *= std / self.std
        self._bias += (mean - self.mean) / self.std

    def normalize(self, batch: Batch) -> Batch:
        """The batch with targets and old values as the head sees them, after its targets were taken in."""
        returns = batch.returns if batch.returns.ndim == 1 else batch.returns[0]
        known = returns if batch.weights is None else returns[batch.weights > 0]
        if len(known):
            self.take(known)
        return replace(batch, returns=self._scaled(batch.returns), values=self._scaled(batch.values))

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        mean, inverse_std = np.float32(self.mean), np.float32(1.0 / self.std)
        return _first(values, lambda first: (first - mean) * inverse_std)

    def _read(self) -> None:
        total, squares, weight = self.moments.tolist()
        self.mean = total / weight
        std = max(squares / weight - self.mean**2, 0.0) ** 0.5
        self.std = min(max(std, _LEAST_STD), _LARGEST_STD)

    def buffers(self) -> dict[str, np.ndarray]:
        """What a checkpoint stores beside the weights."""
        return {"popart.moments": self.moments}

    def load_buffers(self, arrays: dict[str, np.ndarray]) -> None:
        self.moments[:] = arrays["popart.moments"]
        self.mean, self.std = 0.0, 1.0
        if self.moments[2] > 0:
            self._read()


def _first(values: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The values with those of the first head changed."""
    return change(values) if values.ndim == 1 else np.concatenate([change(values[:1]), values[1:]])
