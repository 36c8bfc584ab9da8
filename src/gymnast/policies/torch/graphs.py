"""CUDA graphs: a sequence of kernels that is recorded once and then launched with one call.

On a GPU a small network's kernels run faster than Python can launch them, and the thread that launches them
keeps other threads waiting. A recording works on tensors at fixed addresses, so its input is copied there.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from gymnast.policies.torch.tensors import PixelsLast, TensorParts, tensors_of

Outputs = tuple[np.ndarray, np.ndarray | None, np.ndarray]

_recording = threading.Lock()  # acting and learning are threads of their own, and record one after the other


class _Recording:
    """A sequence of kernels.

    `torch.cuda.graph` would do the same, and before it wait for the whole GPU and give memory back to the
    driver, which keeps other threads waiting, and spoils what they record; a step of learning is recorded in
    every update. So memory comes from a pool that its recordings share, one taking over from the last.
    """

    def __init__(self, work: Callable[[], Any], pool: Any = None) -> None:
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.current_stream().synchronize()
        collects = gc.isenabled()
        with _recording, torch.cuda.stream(_stream()):
            gc.disable()  # what it frees might belong to the GPU, which spoils a recording
            try:
                # Other threads may use the GPU meanwhile; only what this one does is recorded.
                self._graph.capture_begin(pool, capture_error_mode="thread_local")
                try:
                    self.result = work()
                finally:
                    self._graph.capture_end()
            finally:
                if collects:
                    gc.enable()

    def play(self) -> None:
        self._graph.replay()


class InferenceGraph:
    """Outputs, log std and values of a batch of one size; they come back to the CPU in one copy."""

    def __init__(self, outputs_of: Callable[[Any], tuple[Any, Any, Any, Any]], example: torch.Tensor) -> None:
        self._x = example.clone()
        for _ in range(2):  # kernels are chosen and loaded before anything is recorded
            outputs, log_std, values, _ = outputs_of(self._x)
        self._n_outputs, self._n_stds = len(outputs), 0 if log_std is None else len(log_std)
        self._one_value = values.dim() == 1

        def work() -> torch.Tensor:
            outputs, log_std, values, _ = outputs_of(self._x)
            stds = [] if log_std is None else [log_std.expand(-1, outputs.shape[1])]
            return torch.cat([outputs, *stds, values[None] if self._one_value else values])

        self._recording = _Recording(work)

    def __call__(self, x: torch.Tensor) -> Outputs:
        self._x.copy_(x)
        self._recording.play()
        joined = self._recording.result.cpu().numpy()
        edge = self._n_outputs + self._n_stds
        log_std = joined[self._n_outputs : edge] if self._n_stds else None
        return joined[: self._n_outputs], log_std, joined[edge] if self._one_value else joined[edge:]


class StepGraph:
    """One step of learning from a minibatch of one size; its metrics are summed on the GPU."""

    last: _Recording | None = None  # keeps the memory of the pool for the next one

    def __init__(self, learn: Callable[[Any], dict[str, torch.Tensor]], example: Any) -> None:
        """`learn` has been called once already, so that nothing is done for the first time in here."""
        self._batch = example.map(_clone)
        self.names: list[str] = []

        def work() -> torch.Tensor:
            found = learn(self._batch)
            self.names = list(found)
            return torch.stack([value.float() for value in found.values()])

        self._recording = StepGraph.last = _Recording(work, _pool())
        self._found = self._recording.result
        self._sums = torch.zeros_like(self._found)
        self._most = torch.full_like(self._found, -torch.inf)

    def __call__(self, batch: Any) -> None:
        for place, new in zip(_tensors(self._batch), _tensors(batch), strict=True):
            place.copy_(new)
        self._recording.play()
        self._sums += self._found
        torch.maximum(self._most, self._found, out=self._most)

    def latest(self, name: str) -> torch.Tensor:
        """A metric of the last call, on the GPU."""
        return self._found[self.names.index(name)]

    def totals(self) -> dict[str, tuple[float, float]]:
        """Sum and maximum of every metric over all calls."""
        pairs = zip(self._sums.tolist(), self._most.tolist(), strict=True)
        return dict(zip(self.names, pairs, strict=True))


@cache
def _stream() -> Any:
    """Where all recording is done: libraries keep memory for each stream that they have seen."""
    return torch.cuda.Stream()


@cache
def _pool() -> Any:
    """Memory of steps of learning, of which only one recording is played at a time."""
    return torch.cuda.graph_pool_handle()


def _clone(array: Any) -> Any:
    if isinstance(array, PixelsLast):
        return PixelsLast(array.images.clone())
    if isinstance(array, TensorParts):
        return TensorParts({name: _clone(part) for name, part in array.parts.items()})
    return array.clone()


def _tensors(batch: Any) -> list[torch.Tensor]:
    return [tensor for array in batch.arrays().values() for tensor in tensors_of(array)]
