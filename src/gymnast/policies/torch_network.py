"""The network in torch: the same parameters and the same mathematics as the NumPy engine.

encoded observation → encoder → features [B, F] → trunk MLP(s) → heads. Actor and critic may have
one trunk each or share one, and one encoder each or share one.

Parameters are leaves that share the memory of one flat vector, and their `.grad`s share the memory
of one flat gradient vector: clipping and Adam are a few calls on a vector, however many layers
there are, and nothing loops over parameters to set gradients to zero.
"""

from __future__ import annotations

from math import prod
from types import ModuleType

import numpy as np
import torch
from torch.autograd import Variable
from torch.nn import functional

from gymnast.policies.layout import PolicyLayout
from gymnast.policies.torch_adam import TorchAdam
from gymnast.policies.torch_encoder import TorchEncoder

_NORM_EPS = 1e-5
# Up to here one thread is the faster choice: handing such small products to a second thread costs
# more than it saves, and the other core is free to step environments.
_ONE_THREAD = 300_000  # parameters

_ACTIVATIONS = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "silu": functional.silu,
    "gelu": lambda z: functional.gelu(z, approximate="tanh"),
}

Layer = tuple[torch.Tensor | None, ...]  # weight, bias, and gain and shift of its norm


class TorchNetwork:
    """Parameters, gradients and the two passes."""

    xp: ModuleType = torch

    def __init__(self, layout: PolicyLayout, device: str = "cpu") -> None:
        self.layout = layout
        self.device = torch.device(device)
        if self.device.type == "cpu" and layout.n_parameters <= _ONE_THREAD:
            torch.set_num_threads(1)
        self.parameters = torch.zeros(layout.n_parameters, device=self.device)
        self.gradients = torch.zeros_like(self.parameters)
        self.views: dict[str, torch.Tensor] = {}
        offset = 0
        for name, shape in layout.shapes().items():
            span = slice(offset, offset + prod(shape))
            view = self.parameters[span].view(shape).detach().requires_grad_()
            view.grad = self.gradients[span].view(shape)
            self.views[name] = view
            offset = span.stop
        self.encoder = TorchEncoder(layout, self.views)
        self._activation = _ACTIVATIONS[layout.config.activation]
        names = [name for trunk in layout.trunks for name in trunk.names]
        self._actor, self._critic = self._layers(names[0]), self._layers(names[-1])
        self._std_from_state = layout.continuous and layout.config.state_dependent_std
        self._fixed_std = self.views.get("log_std")
        self._graph: tuple[torch.Tensor | None, ...] | None = None

    def _layers(self, name: str) -> list[Layer]:
        """The hidden layers of one MLP."""
        layers: list[Layer] = []
        while f"{name}.{len(layers)}.weight" in self.views:
            parts = ("weight", "bias", "norm.weight", "norm.bias")
            layers.append(tuple(self.views.get(f"{name}.{len(layers)}.{part}") for part in parts))
        return layers

    @torch.inference_mode()
    def act(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Outputs [A, B] and log std of the actor alone, as NumPy arrays."""
        features = self.encoder.actor(self.to_engine(x))
        outputs, log_std = self._action_outputs(self._mlp(features, self._actor))
        return outputs.cpu().numpy(), None if log_std is None else log_std.cpu().numpy()

    @torch.inference_mode()
    def infer(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """As forward, as NumPy arrays and with nothing kept."""
        outputs, log_std, values = self._outputs(self.to_engine(x))
        return outputs.cpu().numpy(), None if log_std is None else log_std.cpu().numpy(), values.cpu().numpy()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """Outputs [A, B], log std ([A, 1], [A, B] or None) and values [B].

        They are handed out without their graph: the distribution and the algorithm work in closed
        form and must not be recorded. The graph stays here for `backward`.
        """
        outputs, log_std, values = self._outputs(x)
        with_std = self._std_from_state and log_std is not None
        self._graph = (outputs, log_std, values) if with_std else (outputs, values)
        return outputs.detach(), None if log_std is None else log_std.detach(), values.detach()

    def backward(
        self, d_outputs: torch.Tensor, d_log_std: torch.Tensor | None, d_values: torch.Tensor
    ) -> None:
        """The gradient of the last forward pass, into the flat gradient vector."""
        assert self._graph is not None, "backward needs a forward pass before it"
        self.gradients.zero_()
        in_graph = self._std_from_state and d_log_std is not None
        derivatives = (d_outputs, d_log_std, d_values) if in_graph else (d_outputs, d_values)
        # What torch.autograd.backward calls, without its check of shapes, which imports sympy (0.35 s).
        # Arguments: keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad.
        Variable._execution_engine.run_backward(self._graph, derivatives, False, False, (), True, True)
        self._graph = None
        if self._fixed_std is not None and d_log_std is not None:
            torch.sum(d_log_std, 1, out=self._fixed_std.grad)

    def to_engine(self, array: np.ndarray) -> torch.Tensor:
        """A tensor on the network's device; on the CPU it shares the array's memory."""
        if not array.flags.writeable:  # torch has no read-only tensors
            array = array.copy()
        return torch.from_numpy(array).to(self.device)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: view.detach().cpu().numpy().copy() for name, view in self.views.items()}

    @torch.no_grad()
    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        for name, view in self.views.items():
            view.copy_(self.to_engine(arrays[name]))

    def build_optimizer(self, betas: tuple[float, float], eps: float) -> TorchAdam:
        return TorchAdam(self.parameters, self.gradients, betas, eps)

    def _outputs(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        actor_features, critic_features = self.encoder.both(x)
        actor_top = self._mlp(actor_features, self._actor)
        critic_top = actor_top if self.layout.config.shared else self._mlp(critic_features, self._critic)
        outputs, log_std = self._action_outputs(actor_top)
        values = functional.linear(critic_top, self.views["value_head.weight"], self.views["value_head.bias"])
        return outputs, log_std, values.squeeze(1)

    def _mlp(self, h: torch.Tensor, layers: list[Layer]) -> torch.Tensor:
        for weight, bias, gain, shift in layers:
            assert weight is not None
            z = functional.linear(h, weight, bias)
            if gain is not None:
                z = functional.layer_norm(z, gain.shape, gain, shift, _NORM_EPS)
            h = self._activation(z)
        return h

    def _action_outputs(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        outputs = self._head("action_head", hidden)
        if self._std_from_state:
            return outputs, self._head("log_std_head", hidden)
        return outputs, None if self._fixed_std is None else self._fixed_std[:, None]

    def _head(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        """[A, B]: the action component first, as the distributions want it."""
        return torch.addmm(self.views[f"{name}.bias"][:, None], self.views[f"{name}.weight"], hidden.t())
