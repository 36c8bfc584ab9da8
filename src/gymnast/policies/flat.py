"""Named parameters in one flat vector: where each one lies, and the orthogonal weights they start as."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from math import prod

import numpy as np

_ROOT_2 = 2**0.5
HIDDEN_GAIN = {
    "tanh": 5 / 3,
    "relu": _ROOT_2,
    "leaky_relu": _ROOT_2,
    "elu": _ROOT_2,
    "silu": _ROOT_2,
    "gelu": _ROOT_2,
}
_LARGE = 100_000  # numbers: from here on the threads of a decomposition wait for each other, for seconds


def spans_of(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, slice]:
    """Where each parameter lies in the flat vector."""
    spans: dict[str, slice] = {}
    at = 0
    for name, shape in shapes.items():
        spans[name] = slice(at, at + prod(shape))
        at += prod(shape)
    return spans


def layer_shapes(n_in: int, n_out: int, *, normed: bool) -> dict[str, tuple[int, ...]]:
    """Parts of one hidden layer, in the order of the flat vector."""
    shapes: dict[str, tuple[int, ...]] = {"weight": (n_out, n_in), "bias": (n_out,)}
    return shapes | {"norm.weight": (n_out,), "norm.bias": (n_out,)} if normed else shapes


def orthogonal(rng: np.random.Generator, shape: tuple[int, ...], gain: float) -> np.ndarray:
    """A random matrix with orthogonal rows (or columns, if there are fewer), times a gain."""
    rows, columns = shape
    drawn = rng.standard_normal((max(rows, columns), min(rows, columns)))
    with _one_thread() if drawn.size > _LARGE else nullcontext():
        q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r))  # makes the draw uniform over orthogonal matrices
    return np.ascontiguousarray((q if rows >= columns else q.T) * gain, np.float32)


def _one_thread() -> AbstractContextManager[object]:
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
