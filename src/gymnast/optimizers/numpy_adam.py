"""Adam (Kingma and Ba, 2015) in NumPy: a handful of vector operations with nothing allocated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gymnast.optimizers.flat import FlatOptimizer, Part


class NumpyAdam(FlatOptimizer):
    """With a weight decay this is AdamW (Loshchilov and Hutter, 2019)."""

    vectors = ("first", "second")

    def __init__(
        self,
        parameters: np.ndarray,
        gradients: np.ndarray,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float = 0.0,
        critic: Sequence[slice] = (),
    ) -> None:
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self._scratch = np.empty_like(parameters)
        super().__init__(parameters, gradients, critic)

    def _part(self, span: slice) -> Part:
        return (*super()._part(span), self._scratch[span])

    def _move(self, part: Part, lr: float) -> None:
        parameters, gradients, first, second, scratch = part
        beta1, beta2 = self.betas
        if self.weight_decay:
            parameters *= np.float32(1 - lr * self.weight_decay)
        # m ← m + (1-β₁)(g - m): one multiplication less than the textbook form
        np.subtract(gradients, first, out=scratch)
        scratch *= np.float32(1 - beta1)
        first += scratch
        np.multiply(gradients, gradients, out=scratch)
        scratch -= second
        scratch *= np.float32(1 - beta2)
        second += scratch
        # The paper's form for fast computers: the corrections go into two scalars, not into the vectors.
        root = math.sqrt(1 - beta2**self.steps)
        np.sqrt(second, out=scratch)
        scratch += np.float32(self.eps * root)
        np.divide(first, scratch, out=scratch)
        scratch *= np.float32(lr * root / (1 - beta1**self.steps))
        parameters -= scratch
