"""LSTM and GRU in torch, stepped while acting and run over whole sequences while learning.

Actor and critic have a memory each, or one together where they share their trunk. States lie in one
tensor [K, N, H]: hidden state, then cell state (LSTM only), of the actor's memory, then of the
critic's. In acting one step is one call of torch's cell; in learning every reset-free run of steps
goes through one call of torch's recurrent layer (oneDNN on the CPU, cuDNN on a GPU).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from gymnast.policies.layout import MEMORY_PARTS, PolicyLayout
from gymnast.policies.memory_state import Runs


class TorchState:
    """The memory of N episodes."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values  # [K, N, H]

    def reset(self, done: Any) -> None:
        """Forget, where an episode has ended: a mask [N] of bools, or indices."""
        done = np.asarray(done)
        index = np.flatnonzero(done) if done.dtype == bool else done.astype(np.int64)
        self.values.index_fill_(1, torch.from_numpy(index).to(self.values.device), 0.0)

    def rows(self, index: Any) -> TorchState:
        """A copy of some of the states."""
        chosen = torch.from_numpy(np.asarray(index, np.int64)).to(self.values.device)
        return TorchState(self.values.index_select(1, chosen))

    def copy(self) -> TorchState:
        return TorchState(self.values.clone())

    def array(self) -> np.ndarray:
        """The states [K, N, H] as a checkpoint stores them."""
        return self.values.cpu().numpy().copy()

    def load_array(self, array: np.ndarray) -> None:
        self.values.copy_(torch.from_numpy(np.ascontiguousarray(array)))


class TorchMemory:
    """The recurrent layers of a policy; their weights are views of its flat parameter vector."""

    def __init__(self, layout: PolicyLayout, views: dict[str, torch.Tensor]) -> None:
        self.kind, self.size = layout.config.memory, layout.config.memory_size
        self.parts = 2 if self.kind == "lstm" else 1
        self.weights = [[views[f"{name}.{part}"] for part in MEMORY_PARTS] for name in layout.memories]

    def start(self, n: int, memories: int, device: torch.device) -> TorchState:
        """Empty states of n episodes, of the first one or of all memories."""
        return TorchState(torch.zeros(memories * self.parts, n, self.size, device=device))

    def step(self, features: Iterable[torch.Tensor], state: TorchState) -> list[torch.Tensor]:
        """Each memory's output [N, H] for its features [N, F]; the state advances one step."""
        values, hidden = state.values, []
        for at, (x, weights) in enumerate(zip(features, self.weights, strict=False)):
            if self.kind == "lstm":
                h, c = values[2 * at], values[2 * at + 1]
                new_h, new_c = torch.lstm_cell(x, (h, c), *weights)
                c.copy_(new_c)
            else:
                h = values[at]
                new_h = torch.gru_cell(x, h, *weights)
            h.copy_(new_h)
            hidden.append(new_h)
        return hidden

    def hidden(self, state: TorchState) -> torch.Tensor:
        """Each memory's last output: [M, N, H], a view."""
        return state.values[:: self.parts]

    def run(self, features: Sequence[torch.Tensor], runs: Runs) -> list[torch.Tensor]:
        """Each memory's outputs [B, H] for its features [B, F], in the order of `runs`."""
        return [self._run(at, x, runs) for at, x in enumerate(features[: len(self.weights)])]

    def _run(self, at: int, x: torch.Tensor, runs: Runs) -> torch.Tensor:
        outputs, begin = [], 0
        for group in runs.groups:
            steps, n, size = group.steps, group.n_runs, len(group.places)
            rows = x[begin : begin + size]
            begin += size
            full = size == steps * n  # all runs are of one length: nothing to fill up
            if not full:
                rows = x.new_zeros(steps * n, x.shape[1]).index_copy(0, group.places, rows)
            h = self._layer(at, rows.view(steps, n, -1), group.states).reshape(steps * n, self.size)
            outputs.append(h if full else h.index_select(0, group.places))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _layer(self, at: int, x: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """One call of torch's recurrent layer: x [steps, runs, F] from states [K, runs, H]."""
        begin = at * self.parts
        # arguments: biases, layers, dropout, train, bidirectional, batch first
        rest = (self.weights[at], True, 1, 0.0, True, False, False)
        if self.kind == "lstm":
            return torch.lstm(x, (states[begin : begin + 1], states[begin + 1 : begin + 2]), *rest)[0]
        return torch.gru(x, states[begin : begin + 1], *rest)[0]
