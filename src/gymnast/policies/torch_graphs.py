"""CUDA graphs: a sequence of kernels that is recorded once and then started with one call.

On a GPU a small network's kernels run faster than Python can start them, and whoever starts them keeps other
threads waiting. What is recorded works on tensors whose place never changes, so its input is copied there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gymnast.policies.torch_parts import PixelsLast, TensorParts, tensors_of

# Other threads may use the GPU meanwhile; only what this one does is recorded.
_CAPTURE = "thread_local"

Outputs = tuple[np.ndarray, np.ndarray | None, np.ndarray]


class InferenceGraph:
    """Outputs, log std and values of a batch of one size; they come back to the CPU in one piece."""

    def __init__(self, outputs_of: Callable[[Any], tuple[Any, Any, Any]], example: torch.Tensor) -> None:
        self._x = example.clone()
        for _ in range(2):  # kernels are chosen and loaded before anything is recorded
            outputs, log_std, values = outputs_of(self._x)
        self._n_outputs, self._n_stds = len(outputs), 0 if log_std is None else len(log_std)
        torch.cuda.current_stream(example.device).synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode=_CAPTURE):
            outputs, log_std, values = outputs_of(self._x)
            stds = [] if log_std is None else [log_std.expand(-1, outputs.shape[1])]
            self._joined = torch.cat([outputs, *stds, values[None]])

    def __call__(self, x: torch.Tensor) -> Outputs:
        self._x.copy_(x)
        self._graph.replay()
        joined = self._joined.cpu().numpy()
        edge = self._n_outputs + self._n_stds
        log_std = joined[self._n_outputs : edge] if self._n_stds else None
        return joined[: self._n_outputs], log_std, joined[edge]


class StepGraph:
    """One step of learning from a minibatch of one size, whose figures are summed up on the GPU."""

    def __init__(self, learn: Callable[[Any], dict[str, torch.Tensor]], example: Any) -> None:
        """`learn` has been called once already, so that nothing is done for the first time in here."""
        self._batch = example.map(_clone)
        torch.cuda.current_stream().synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode=_CAPTURE):
            found = learn(self._batch)
            self._found = torch.stack([value.float() for value in found.values()])
        self.names = list(found)
        self._sums = torch.zeros_like(self._found)
        self._most = torch.full_like(self._found, -torch.inf)

    def __call__(self, batch: Any) -> None:
        for place, new in zip(_tensors(self._batch), _tensors(batch), strict=True):
            place.copy_(new)
        self._graph.replay()
        self._sums += self._found
        torch.maximum(self._most, self._found, out=self._most)

    def totals(self) -> dict[str, tuple[float, float]]:
        """Sum and maximum of every figure over all calls."""
        pairs = zip(self._sums.tolist(), self._most.tolist(), strict=True)
        return dict(zip(self.names, pairs, strict=True))


def _clone(array: Any) -> Any:
    if isinstance(array, PixelsLast):
        return PixelsLast(array.images.clone())
    if isinstance(array, TensorParts):
        return TensorParts({name: _clone(part) for name, part in array.parts.items()})
    return array.clone()


def _tensors(batch: Any) -> list[torch.Tensor]:
    return [tensor for array in batch.arrays() for tensor in tensors_of(array)]
