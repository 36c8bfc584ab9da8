"""Activations of the NumPy engine and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_SQRT_2_PI = np.float32(np.sqrt(2 / np.pi))
_GELU = np.float32(0.044715)
_LEAK = np.float32(0.01)
_ONE = np.float32(1)


@dataclass(frozen=True, slots=True)
class Activation:
    """`apply(z, out)` and `chain(d, z, h)`, which multiplies d by the derivative in place."""

    apply: Callable[[np.ndarray, np.ndarray], object]
    chain: Callable[[np.ndarray, np.ndarray, np.ndarray], object]
    needs_z: bool = False


def _tanh_chain(d: np.ndarray, z: np.ndarray, h: np.ndarray) -> None:
    np.multiply(h, h, out=h)  # h is not needed after its derivative
    np.subtract(_ONE, h, out=h)
    d *= h


def _elu(z: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, np.where(z > 0, z, np.expm1(np.minimum(z, 0))))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * z) + _ONE)  # tanh never overflows


def _silu_chain(d: np.ndarray, z: np.ndarray, h: np.ndarray) -> None:
    s = _sigmoid(z)
    d *= s * (_ONE + z * (_ONE - s))


def _gelu_inner(z: np.ndarray) -> np.ndarray:
    return np.tanh(_SQRT_2_PI * (z + _GELU * z * z * z))


def _gelu_chain(d: np.ndarray, z: np.ndarray, h: np.ndarray) -> None:
    t = _gelu_inner(z)
    d *= 0.5 * (_ONE + t) + 0.5 * z * (_ONE - t * t) * _SQRT_2_PI * (_ONE + 3 * _GELU * z * z)


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(lambda z, out: np.tanh(z, out=out), _tanh_chain),
    "relu": Activation(
        lambda z, out: np.maximum(z, 0, out=out), lambda d, z, h: np.multiply(d, h > 0, out=d)
    ),
    "leaky_relu": Activation(
        lambda z, out: np.maximum(z, _LEAK * z, out=out),
        lambda d, z, h: np.multiply(d, np.where(h > 0, _ONE, _LEAK), out=d),
    ),
    "elu": Activation(_elu, lambda d, z, h: np.multiply(d, np.where(h > 0, _ONE, h + _ONE), out=d)),
    "silu": Activation(lambda z, out: np.multiply(z, _sigmoid(z), out=out), _silu_chain, needs_z=True),
    # the tanh form of GELU, which torch calls approximate="tanh"
    "gelu": Activation(
        lambda z, out: np.multiply(0.5 * z, _ONE + _gelu_inner(z), out=out), _gelu_chain, needs_z=True
    ),
}
