"""The stack of stand-alone networks in NumPy (`policies/stack.py`): a trunk and a linear layer."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import numpy as np

from gymnast.policies.flat import spans_of
from gymnast.policies.numpy.trunk import NumpyTrunk, Pair, TrunkPass, ignoring_blas_flags
from gymnast.policies.stack import check_arrays


class NumpyStack:
    """Parameters, gradients and the two passes."""

    xp: ModuleType = np

    def __init__(
        self,
        widths: tuple[int, ...],
        members: int,
        activation: str,
        layer_norm: bool,
        shapes: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.widths, self.members, self._shapes = widths, members, shapes
        self._spans = spans_of(shapes)
        self.parameters = np.zeros(max(span.stop for span in self._spans.values()), np.float32)
        self.gradients = np.zeros_like(self.parameters)
        self.critic_spans: list[slice] = []
        self._trunk = NumpyTrunk(members, widths[:-1], activation, layer_norm, self._pair)
        last = len(widths) - 2
        self._weight, self._g_weight = self._pair(f"{last}.weight")  # [E, O, H]
        self._bias, self._g_bias = self._pair(f"{last}.bias")  # [E, O]
        self._pass: TrunkPass | None = None

    def _pair(self, name: str) -> Pair:
        span, shape = self._spans[name], self._shapes[name]
        return self.parameters[span].reshape(shape), self.gradients[span].reshape(shape)

    @ignoring_blas_flags
    def forward(self, x: np.ndarray) -> np.ndarray:
        self._pass = done = self._trunk.forward(x)
        outputs = np.matmul(done.top, self._weight.transpose(0, 2, 1))
        outputs += self._bias[:, None, :]
        return outputs

    def infer(self, x: np.ndarray) -> np.ndarray:
        outputs = self.forward(x)
        self._pass = None
        return outputs

    @ignoring_blas_flags
    def backward(self, d_outputs: np.ndarray, want_input: bool = False) -> np.ndarray | None:
        done, self._pass = self._pass, None  # going back overwrites what the forward pass kept
        assert done is not None, "backward needs a forward pass before it"
        np.matmul(d_outputs.transpose(0, 2, 1), done.top, out=self._g_weight)
        np.sum(d_outputs, 1, out=self._g_bias)
        np.matmul(d_outputs, self._weight, out=done.d_top)
        return self._trunk.backward(done, want_input)

    def to_engine(self, array: np.ndarray) -> np.ndarray:
        return array

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: self._pair(name)[0].copy() for name in self._shapes}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        check_arrays(self._shapes, arrays)
        for name in self._shapes:
            self._pair(name)[0][...] = arrays[name]
