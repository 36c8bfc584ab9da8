"""A policy's memory along a rollout: the states that acted, and what the memory gave at each step.

Log-probabilities and values are those of the states that acted: each memory's outputs are kept step
by step, and trunks and heads run over all of them at once afterwards. The states carry on from one
rollout to the next; learning gets those at the beginning of each sequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gymnast.policies.torch.memory import TorchState

if TYPE_CHECKING:
    from gymnast.policies.policy import Policy
    from gymnast.policies.torch.recurrent import RecurrentNetwork


class MemoryTrace:
    """Of N envs over T steps, in sequences of L."""

    def __init__(self, network: RecurrentNetwork, n_steps: int, n_envs: int, length: int) -> None:
        self.network, self.length = network, length
        self.state = network.start(n_envs, critic=True)
        values, memories = self.state.values, len(network.layout.memories)
        self.starts = values.new_zeros(n_steps // length, *values.shape)  # [T/L, K, N, H]
        self._outputs = values.new_zeros(n_steps, n_envs, memories, values.shape[2])  # [T, N, M, H]
        self._cut_off: list[TorchState] = []
        self._endings: list[tuple[int, np.ndarray, np.ndarray]] = []  # arguments of `ended`, by step
        self._step = 0

    def act(
        self, policy: Policy, t: int, obs: np.ndarray, noise: np.ndarray, masks: np.ndarray | None
    ) -> np.ndarray:
        """Sampled actions of step t; the states advance."""
        if t == 0:
            self._endings.clear()
        self._before(t)
        actions = policy.act(obs, noise, masks, self.state)
        self._after(t)
        return actions

    def _before(self, t: int) -> None:
        self._step = t
        if t == 0:
            self._cut_off.clear()
        if t % self.length == 0:
            self.starts[t // self.length].copy_(self.state.values)

    def _after(self, t: int) -> None:
        self._outputs[t].copy_(self.network.memory.hidden(self.state).transpose(0, 1))

    def replay(self, x: Any) -> None:
        """Go through the rollout again with other inputs, whose first [T·N] rows are its steps."""
        steps, n = self._outputs.shape[:2]
        endings = {step: (done, cut) for step, done, cut in self._endings}
        self.state.values.copy_(self.starts[0])
        for t in range(steps):
            self._before(t)
            self.network.recall(x[t * n : (t + 1) * n], self.state)
            self._after(t)
            if t in endings:
                self._end(*endings[t])

    def ended(self, done: np.ndarray, cut: np.ndarray) -> None:
        """Episodes of the envs `done` have ended; those of `cut` were truncated."""
        self._endings.append((self._step, done, cut))
        self._end(done, cut)

    def _end(self, done: np.ndarray, cut: np.ndarray) -> None:
        if len(cut):
            self._cut_off.append(self.state.rows(cut))
        self.state.reset(done)

    def recall(self, last: np.ndarray, cut_off: np.ndarray) -> torch.Tensor:
        """What the memories gave [B, M, H]: for the rollout [T·N], for the observations after it [N], and
        for the true last ones of episodes that were cut off, each from the state before its reset."""
        parts = [self._outputs.flatten(0, 1), self._recall(last, self.state.copy())]
        if self._cut_off:
            states = torch.cat([state.values for state in self._cut_off], 1)
            parts.append(self._recall(cut_off, TorchState(states)))
        return torch.cat(parts)

    def _recall(self, x: np.ndarray, state: TorchState) -> torch.Tensor:
        return self.network.recall(x, state).transpose(0, 1)

    def load_array(self, array: np.ndarray | None) -> None:
        """Continue from these states; with None, or those of another memory, from empty ones."""
        if array is not None and array.shape == tuple(self.state.values.shape):
            self.state.load_array(array)
        else:
            self.state.values.zero_()
