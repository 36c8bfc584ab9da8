"""The stack of stand-alone networks in torch (`policies/stack.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from gymnast.policies.stack import check_arrays
from gymnast.policies.torch.flat import ACTIVATIONS, NORM_EPS, FlatParameters, run_backward


class TorchStack:
    """Parameters, gradients and the two passes."""

    xp: ModuleType = torch

    def __init__(
        self,
        widths: tuple[int, ...],
        members: int,
        activation: str,
        layer_norm: bool,
        shapes: Mapping[str, tuple[int, ...]],
        device: str,
    ) -> None:
        self.widths, self.members, self._shapes = widths, members, shapes
        self.device = torch.device(device)
        flat = FlatParameters(shapes, self.device)
        self.parameters, self.gradients, self._views = flat.vector, flat.gradients, flat.views
        self.critic_spans: list[slice] = []
        self._activation, self._normed = ACTIVATIONS[activation], layer_norm
        self._graph: tuple[torch.Tensor, torch.Tensor] | None = None  # input and outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        outputs = self._outputs(x)
        self._graph = x, outputs
        return outputs.detach()

    @torch.no_grad()
    def infer(self, x: torch.Tensor) -> torch.Tensor:
        self._graph = None
        return self._outputs(x)

    def _outputs(self, x: torch.Tensor) -> torch.Tensor:
        h = x.expand(self.members, *x.shape[-2:])
        last = len(self.widths) - 2
        for layer in range(last + 1):
            weight, bias = self._views[f"{layer}.weight"], self._views[f"{layer}.bias"]
            h = torch.baddbmm(bias[:, None, :], h, weight.transpose(1, 2))
            if layer == last:
                break
            if self._normed:
                gain, shift = self._views[f"{layer}.norm.weight"], self._views[f"{layer}.norm.bias"]
                h = functional.layer_norm(h, h.shape[-1:], eps=NORM_EPS) * gain[:, None, :]
                h = h + shift[:, None, :]
            h = self._activation(h)
        return h

    def backward(self, d_outputs: torch.Tensor, want_input: bool = False) -> torch.Tensor | None:
        assert self._graph is not None, "backward needs a forward pass before it"
        (x, outputs), self._graph = self._graph, None
        self.gradients.zero_()
        # With the inputs named, the derivative of x is computed only if it is wanted.
        run_backward([outputs], [d_outputs], [*self._views.values(), *([x] if want_input else [])])
        return x.grad if want_input else None

    def to_engine(self, array: Any) -> torch.Tensor:
        """A tensor on the stack's device; on the CPU it shares the array's memory."""
        if isinstance(array, torch.Tensor):
            return array.to(self.device)
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: view.detach().cpu().numpy().copy() for name, view in self._views.items()}

    @torch.no_grad()
    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        check_arrays(self._shapes, arrays)
        for name, view in self._views.items():
            view.copy_(self.to_engine(np.asarray(arrays[name])))
