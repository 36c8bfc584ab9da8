"""What an algorithm hands to an engine.

Every policy-gradient method needs only the derivatives of its objective with respect to each
sample's log-probability, entropy and value. An algorithm states these, in code that runs on NumPy
arrays and torch tensors alike; the distribution and the network carry them back to the weights.
So an algorithm is written once, for both engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or torch.Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples to learn from; the first axis is B."""

    x: Array  # [B, D] encoded observations
    actions: Array  # [B, …]
    log_probs: Array  # [B] under the policy that acted
    values: Array  # [B] of the critic that was there then
    advantages: Array  # [B]
    returns: Array  # [B] targets of the critic

    def __len__(self) -> int:
        return len(self.advantages)

    def rows(self, index: Any) -> Batch:
        """Some of the samples: a slice gives views, an index array copies."""
        return Batch(
            _rows(self.x, index),
            _rows(self.actions, index),
            _rows(self.log_probs, index),
            _rows(self.values, index),
            _rows(self.advantages, index),
            _rows(self.returns, index),
        )


@dataclass(slots=True)
class Loss:
    """Derivatives of the mean objective, and what it was made of."""

    d_log_prob: Array  # [B]
    d_entropy: Array | float  # [B] or one number for all
    d_values: Array  # [B]
    kl: Array  # scalar: how far the policy moved from the one that acted
    largest_ratio: Array  # scalar: the sample whose probability grew most
    stats: dict[str, Array]  # scalars by metric key


def _rows(array: Array, index: Any) -> Array:
    if isinstance(index, slice):
        return array[index]
    # On rows of a matrix these are many times faster than array[index].
    return array.take(index, 0) if isinstance(array, np.ndarray) else array.index_select(0, index)
