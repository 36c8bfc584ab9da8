"""What every optimiser shares: one flat vector, clipping by norm, two learning rates, a stored state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gymnast.errors import GymnastError

Array = Any  # numpy.ndarray or torch.Tensor
Part = tuple[Array, ...]  # parameters, gradients and the state's vectors, over one span


class FlatOptimizer(ABC):
    """Moves a flat vector along its gradient; a subclass defines the step.

    Code of a subclass runs on NumPy arrays and torch tensors alike, unless it is named for an engine.
    Nothing here waits for a device: on torch, norm and clipping stay tensors.
    """

    vectors: ClassVar[tuple[str, ...]] = ()  # of the state, each as long as the parameters

    def __init__(self, parameters: Array, gradients: Array, critic: Sequence[slice] = ()) -> None:
        self.parameters, self.gradients = parameters, gradients
        self.steps = 0
        numpy = isinstance(parameters, np.ndarray)
        self._memory = [
            np.zeros_like(parameters) if numpy else parameters.new_zeros(len(parameters))
            for _ in self.vectors
        ]
        self._clip = _clip_numpy if numpy else _clip_torch
        self._whole = self._part(slice(None))
        # Only a second learning rate needs the vector in parts, and costs more.
        self._parts = [(self._part(span), owner) for span, owner in _alternate(critic, len(parameters))]

    def step(self, lr: float, max_grad_norm: float, critic_lr: float | None = None) -> Any:
        """Clip, move the parameters, and give back the norm before clipping."""
        norm = self._clip(self.gradients, max_grad_norm)
        self.steps += 1
        self._begin_step()
        if critic_lr is None:
            self._move(self._whole, lr)
        else:
            for part, is_critic in self._parts:
                self._move(part, critic_lr if is_critic else lr)
        return norm

    def _begin_step(self) -> None:  # noqa: B027  most have nothing to do here
        """A step has been counted and is about to be made."""

    def advance(self, steps: int) -> None:
        """Count steps that were replayed from a recording (`policies/torch/graphs.py`)."""
        self.steps += steps

    @abstractmethod
    def _move(self, part: Part, lr: float) -> None:
        """One step of a part, in place."""

    def _part(self, span: slice) -> Part:
        return tuple(vector[span] for vector in (self.parameters, self.gradients, *self._memory))

    def reset(self) -> None:
        """Forget what earlier gradients were."""
        self.steps = 0
        for vector in self._memory:
            vector[:] = 0.0

    def metrics(self) -> dict[str, float]:
        """The optimiser's own metrics."""
        return {}

    def state(self) -> dict[str, Any]:
        """Step count and vectors, as NumPy arrays."""
        stored = {
            name: vector.copy() if isinstance(vector, np.ndarray) else vector.cpu().numpy().copy()
            for name, vector in zip(self.vectors, self._memory, strict=True)
        }
        return {"steps": self.steps, **stored}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take a stored state, which must be of this optimiser and of as many parameters."""
        held, wanted = sorted(set(state) - {"steps"}), sorted(self.vectors)
        again = "; resume with --fresh-optimizer"
        if held != wanted:
            raise GymnastError(
                f"the optimiser's state holds {', '.join(held) or 'no vectors'}, "
                f"{type(self).__name__} needs {', '.join(wanted) or 'none'}: "
                f"algo.optimizer was changed{again}"
            )
        size, found = len(self.parameters), {name: np.asarray(state[name], np.float32) for name in wanted}
        for vector in found.values():
            if vector.shape != (size,):
                raise GymnastError(
                    f"the optimiser's state is of {vector.size} parameters, this policy has {size}: "
                    f"the policy section was changed{again}"
                )
        self.steps = int(state["steps"])
        for name, vector in zip(self.vectors, self._memory, strict=True):
            vector[:] = found[name] if isinstance(vector, np.ndarray) else vector.new_tensor(found[name])


def _alternate(critic: Sequence[slice], size: int) -> list[tuple[slice, bool]]:
    """The whole vector in spans, and which of them are the critic's."""
    spans: list[tuple[slice, bool]] = []
    at = 0
    for span in critic:
        if span.start > at:
            spans.append((slice(at, span.start), False))
        spans.append((span, True))
        at = span.stop
    return [*spans, (slice(at, size), False)] if at < size else spans


def _clip_numpy(gradients: np.ndarray, max_norm: float) -> float:
    norm = math.sqrt(float(np.dot(gradients, gradients)))
    if max_norm and norm > max_norm:
        gradients *= np.float32(max_norm / (norm + 1e-6))
    return norm


def _clip_torch(gradients: Any, max_norm: float) -> Any:
    norm = gradients.dot(gradients).sqrt()
    if max_norm:
        gradients *= (max_norm / (norm + 1e-6)).clamp(max=1.0)
    return norm
