"""A policy's weights and statistics as they travel: one flat vector, and the few arrays of other types."""

from __future__ import annotations

import numpy as np

from gymnast.policies.policy import Policy

_FLAT = "flat"


def weights_of(policy: Policy) -> dict[str, np.ndarray]:
    """All that acting needs of a policy."""
    arrays = policy.arrays()
    flat = [array.reshape(-1) for array in arrays.values() if array.dtype == np.float32]
    others = {name: array for name, array in arrays.items() if array.dtype != np.float32}
    return {_FLAT: np.concatenate(flat), **others}


def load_weights(policy: Policy, weights: dict[str, np.ndarray]) -> None:
    """Take what `weights_of` gave of a policy with the same layout."""
    arrays, at = {}, 0
    for name, own in policy.arrays().items():
        if own.dtype == np.float32:
            arrays[name] = weights[_FLAT][at : at + own.size].reshape(own.shape)
            at += own.size
        else:
            arrays[name] = weights[name]
    policy.load_arrays(arrays)
