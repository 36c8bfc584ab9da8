"""Adam (Kingma and Ba, 2015) on one flat vector, with gradient clipping by norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gymnast.errors import GymnastError


class NumpyAdam:
    """Moments live beside the parameters; a step is a handful of vector operations."""

    def __init__(
        self, parameters: np.ndarray, gradients: np.ndarray, betas: tuple[float, float], eps: float
    ) -> None:
        self.parameters, self.gradients = parameters, gradients
        self.betas, self.eps = betas, eps
        self.steps = 0
        self.first = np.zeros_like(parameters)
        self.second = np.zeros_like(parameters)
        self._scratch = np.empty_like(parameters)

    def step(self, lr: float, max_grad_norm: float) -> float:
        """Clip, move the parameters, and give back the norm before clipping."""
        gradients, scratch = self.gradients, self._scratch
        norm = math.sqrt(float(np.dot(gradients, gradients)))
        if max_grad_norm and norm > max_grad_norm:
            gradients *= np.float32(max_grad_norm / (norm + 1e-6))
        self.steps += 1
        beta1, beta2 = self.betas
        # m ← m + (1-β₁)(g - m): one multiplication less than the textbook form
        np.subtract(gradients, self.first, out=scratch)
        scratch *= np.float32(1 - beta1)
        self.first += scratch
        np.multiply(gradients, gradients, out=scratch)
        scratch -= self.second
        scratch *= np.float32(1 - beta2)
        self.second += scratch
        # The paper's form for fast computers: the corrections go into two scalars, not into the vectors.
        root = math.sqrt(1 - beta2**self.steps)
        np.sqrt(self.second, out=scratch)
        scratch += np.float32(self.eps * root)
        np.divide(self.first, scratch, out=scratch)
        scratch *= np.float32(lr * root / (1 - beta1**self.steps))
        self.parameters -= scratch
        return norm

    def state(self) -> dict[str, Any]:
        return {"steps": self.steps, "first": self.first.copy(), "second": self.second.copy()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.steps, self.first[:], self.second[:] = moments(state, len(self.parameters))


def moments(state: dict[str, Any], size: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Steps and both moments of a stored state, which must fit this many parameters."""
    first, second = np.asarray(state["first"], np.float32), np.asarray(state["second"], np.float32)
    if first.shape != (size,) or second.shape != (size,):
        raise GymnastError(
            f"the optimiser's state is of {first.size} parameters, this policy has {size}: "
            "the policy section was changed; resume with --fresh-optimizer"
        )
    return int(state["steps"]), first, second
