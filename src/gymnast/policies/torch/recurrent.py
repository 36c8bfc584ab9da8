"""A policy network with a memory: encoder → LSTM or GRU → trunk MLP(s) → heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gymnast.errors import GymnastError
from gymnast.policies.layout import PolicyLayout
from gymnast.policies.memory_state import InRuns, no_state_error
from gymnast.policies.torch.memory import TorchMemory, TorchState
from gymnast.policies.torch.memory_trace import MemoryTrace
from gymnast.policies.torch.network import Outputs, TorchNetwork


class RecurrentNetwork(TorchNetwork):
    """As its base, from states of a memory instead of from observations alone."""

    def __init__(self, layout: PolicyLayout, device: str = "cpu", precision: str = "f32") -> None:
        super().__init__(layout, device, precision)
        self.memory = TorchMemory(layout, self.views)

    def start(self, n: int, *, critic: bool = False) -> TorchState:
        """The empty memory of n episodes; the critic's own is only needed to value what was seen."""
        memories = len(self.layout.memories) if critic else 1
        return self.memory.start(n, memories, self.device)

    def trace(self, n_steps: int, n_envs: int, length: int) -> MemoryTrace:
        """The memory along rollouts, in sequences of `length` steps."""
        return MemoryTrace(self, n_steps, n_envs, length)

    @torch.inference_mode()
    def act_from(self, x: np.ndarray, state: TorchState) -> tuple[np.ndarray, np.ndarray | None]:
        """Outputs [A, N] and log std of the actor, as NumPy arrays; the state advances one step."""
        hidden = self._step(x, state)
        outputs, log_std = self.action_outputs(self._mlp(hidden[0], self._actor))
        return outputs.cpu().numpy(), None if log_std is None else log_std.cpu().numpy()

    @torch.inference_mode()
    def recall(self, x: np.ndarray, state: TorchState) -> torch.Tensor:
        """The memories' outputs [M, N, H] one step on; the state is used up."""
        return torch.stack(self._step(x, state))

    @torch.inference_mode()
    def infer_recalled(self, hidden: torch.Tensor) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Outputs, log std and values from the memories' outputs [B, M, H]."""
        outputs, log_std, values, _ = self._heads(hidden[:, 0], hidden[:, -1])
        return outputs.cpu().numpy(), None if log_std is None else log_std.cpu().numpy(), values.cpu().numpy()

    def values_from(self, x: np.ndarray, state: TorchState | None) -> np.ndarray:
        """Values ([N] or [V, N]) of what is seen next; the state stays as it is."""
        if state is None:
            raise GymnastError(no_state_error(len(x)))
        if len(state.values) < len(self.layout.memories) * self.memory.parts:
            raise GymnastError("values need the critic's memory too: policy.start(n, critic=True)")
        return self.infer_recalled(self.recall(x, state.copy()).transpose(0, 1))[2]

    def starting_states(
        self, states: torch.Tensor, part: np.ndarray, env: np.ndarray, fresh: np.ndarray
    ) -> torch.Tensor:
        """[K, R, H] of states [S, K, N, H]: row r is (part, env), emptied where r is one of `fresh`."""
        chosen = states[self.to_engine(part), :, self.to_engine(env)].transpose(0, 1).contiguous()
        return chosen.index_fill_(1, self.to_engine(fresh), 0.0)

    def _step(self, x: np.ndarray, state: TorchState) -> list[torch.Tensor]:
        if len(x) != state.values.shape[1]:
            raise GymnastError(f"{len(x)} observations, but the state is of {state.values.shape[1]} episodes")
        inputs = self.to_engine(x)
        one = len(state.values) == self.memory.parts  # the actor's alone, or one for both
        features = (self.encoder.actor(inputs),) if one else self.encoder.both(inputs)
        return self.memory.step(features, state)

    def _outputs(self, x: Any) -> Outputs:
        if not isinstance(x, InRuns):
            raise GymnastError(no_state_error(len(x)))
        hidden = self.memory.run(self.encoder.both(x.x), x.runs)
        return self._heads(hidden[0], hidden[-1])

    def recalled(self, features: list[torch.Tensor], x: InRuns) -> list[torch.Tensor]:
        return self.memory.run(features, x.runs)

    def act(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        raise GymnastError(no_state_error(len(x)))
