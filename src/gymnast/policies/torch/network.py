"""The network in torch: the same parameters and the same mathematics as the NumPy engine.

preprocessed observation → encoder → features [B, F] → trunk MLP(s) → heads. Actor and critic may have
one trunk each or share one, and one encoder each or share one.

Parameters are leaves that share the memory of one flat vector, and their `.grad`s share the memory
of one flat gradient vector: clipping and Adam are a few calls on a vector, however many layers
there are, and nothing loops over parameters to set gradients to zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.hidden import Seen
from gymnast.policies.layout import PolicyLayout
from gymnast.policies.memory_state import InRuns
from gymnast.policies.torch.encoder import TorchEncoder
from gymnast.policies.torch.flat import ACTIVATIONS, NORM_EPS, FlatParameters, run_backward
from gymnast.policies.torch.tensors import TensorParts

if TYPE_CHECKING:
    from gymnast.policies.torch.graphs import InferenceGraph

# Up to here one thread is the faster choice: handing such small products to a second thread costs
# more than it saves, and the other core is free to step environments.
_ONE_THREAD = 300_000  # parameters

_LAYER_PARTS = ("weight", "bias", "norm.weight", "norm.bias")
_STATISTICS = ("running_mean", "running_var")  # of batch norm
_BATCH_NORM_MOMENTUM = 0.1  # share of a minibatch in the statistics that acting goes by

Layer = tuple[torch.Tensor | None, ...]  # _LAYER_PARTS, then _STATISTICS; None for what it does not have
# outputs [A, B]; log std [A, 1], [A, B] or None; values [B] or [V, B]; features [B, H] of the actor's trunk
Outputs = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, torch.Tensor]


class TorchNetwork:
    """Parameters, gradients and the two passes."""

    xp: ModuleType = torch

    def __init__(self, layout: PolicyLayout, device: str = "cpu", precision: str = "f32") -> None:
        self.layout = layout
        self.device = torch.device(device)
        self.precision = precision
        self.on_gpu = self.device.type != "cpu"
        # Acting waits only for its own work: it has a stream of its own, with priority over others.
        self._stream = torch.cuda.Stream(self.device, priority=-1) if self.on_gpu else None
        self.wants_one_torch_thread = not self.on_gpu and layout.n_parameters <= _ONE_THREAD
        flat = FlatParameters(layout.shapes(), self.device)
        self.parameters, self.gradients, self.views = flat.vector, flat.gradients, flat.views
        self.critic_spans = layout.critic_spans()
        self.buffers = {
            name: torch.from_numpy(np.zeros(shape, dtype)).to(self.device)
            for name, (shape, dtype) in layout.buffers().items()
        }
        self.encoder = TorchEncoder(layout, self.views, self.buffers, precision)
        self._dropout = layout.config.dropout
        own_encoder = layout.encoder is not None and layout.encoder.own
        self._random = self._dropout > 0 or own_encoder  # whether updates draw random numbers
        # A GPU convolves in TF32 by default, in another way for batches of another size.
        rounds_coarsely = precision != "f32" or (self.on_gpu and layout.encoder is not None)
        self.learns_as_it_acts = not (self._random or layout.config.batch_norm or rounds_coarsely)
        # Modules of torch draw from its global generator, whatever else in the process does too.
        self._draws_globally = self._random and layout.encoder is not None
        self._generator = torch.Generator(self.device)
        self.records = self.device.type == "cuda" and not self._random and not layout.memories
        self._inference: dict[int, InferenceGraph] = {}  # by the size of the batch
        self._activation = ACTIVATIONS[layout.config.activation]
        names = [name for trunk in layout.trunks for name in trunk.names]
        self._actor, self._critic = self._layers(names[0]), self._layers(names[-1])
        self._std_from_state = layout.continuous and layout.config.state_dependent_std
        self._fixed_std = self.views.get("log_std")
        self._one_value = len(layout.value_heads) == 1
        self._graph: Outputs | None = None

    def _layers(self, name: str) -> list[Layer]:
        """The hidden layers of one MLP."""
        layers: list[Layer] = []
        while f"{name}.{len(layers)}.weight" in self.views:
            layer = f"{name}.{len(layers)}"
            parts = [self.views.get(f"{layer}.{part}") for part in _LAYER_PARTS]
            statistics = [self.buffers.get(f"{layer}.norm.{part}") for part in _STATISTICS]
            layers.append((*parts, *statistics))
        return layers

    @contextmanager
    def updating(self, rng: np.random.Generator) -> Iterator[None]:
        """Around an update: what dropout drops, and whatever an encoder draws from torch's global generator,
        follows from the run's own random numbers, which a checkpoint keeps."""
        seed = int(rng.integers(2**63)) if self._random else None
        with warnings.catch_warnings() if self.on_gpu else nullcontext(), self._seeded(seed):
            if self.on_gpu:  # torch warns once from its thread for backward passes, and needs no help
                warnings.filterwarnings("ignore", "Attempting to run cuBLAS, but there was no current")
            yield

    @contextmanager
    def _seeded(self, seed: int | None) -> Iterator[None]:
        if seed is None:
            yield
            return
        self._generator.manual_seed(seed)
        if not self._draws_globally:
            yield
            return
        with torch.random.fork_rng(devices=[self.device] if self.on_gpu else []):
            torch.manual_seed(seed)
            yield

    @torch.inference_mode()
    def act(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Outputs [A, B] and log std of the actor alone, as NumPy arrays."""
        features = self.encoder.actor(self.to_engine(x))
        outputs, log_std = self.action_outputs(self._mlp(features, self._actor))
        return outputs.cpu().numpy(), None if log_std is None else log_std.cpu().numpy()

    @torch.inference_mode()
    def infer(self, x: Any) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """As forward, as NumPy arrays and with nothing kept."""
        if self.records and isinstance(x, torch.Tensor):  # put there to act on, always as many at once
            return self._recorded(x)
        outputs, log_std, values, _ = self._outputs(self.to_engine(x))
        return outputs.cpu().numpy(), None if log_std is None else log_std.cpu().numpy(), values.cpu().numpy()

    def _recorded(self, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        graph = self._inference.get(len(x))
        if graph is None:
            from gymnast.policies.torch.graphs import InferenceGraph

            graph = self._inference[len(x)] = InferenceGraph(self._outputs, x)
        return graph(x)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """Outputs [A, B], log std ([A, 1], [A, B] or None) and values ([B], or [V, B] of several heads).

        They are handed out without their graph: the distribution and the algorithm work in closed
        form and must not be recorded. The graph stays here for `backward`.
        """
        self._graph = outputs, log_std, values, _ = self._outputs(x)
        return outputs.detach(), None if log_std is None else log_std.detach(), values.detach()

    def features(self) -> torch.Tensor:
        """Top activations [B, H] of the actor's trunk in the last forward pass, until its backward pass."""
        assert self._graph is not None, "features are those of a forward pass before backward"
        return self._graph[3].detach()

    def backward(
        self,
        d_outputs: torch.Tensor,
        d_log_std: torch.Tensor | None,
        d_values: torch.Tensor,
        d_features: torch.Tensor | None = None,
    ) -> None:
        """The gradient of the last forward pass, into the flat gradient vector."""
        assert self._graph is not None, "backward needs a forward pass before it"
        self.gradients.zero_()
        outputs, log_std, values, features = self._graph
        roots, derivatives = [outputs], [d_outputs]
        if self._std_from_state and log_std is not None and d_log_std is not None:
            roots.append(log_std)
            derivatives.append(d_log_std)
        roots.append(values)
        derivatives.append(d_values)
        if d_features is not None and features.requires_grad:  # without layers they are the observation
            roots.append(features)
            derivatives.append(d_features)
        run_backward(roots, derivatives)
        self._graph = None
        if self._fixed_std is not None and d_log_std is not None:
            torch.sum(d_log_std, 1, out=self._fixed_std.grad)

    def look(self, x: Any) -> Seen:
        """What all hidden layers give for a batch."""
        from gymnast.policies.torch.hidden import look_into

        return look_into(self, x)

    def layers_of(self, name: str, h: torch.Tensor) -> list[torch.Tensor]:
        """The activations of each hidden layer of one trunk, for what goes into it."""
        activations = []
        for layer in self._layers(name):
            activations.append(h := self._mlp(h, [layer]))
        return activations

    def recalled(self, features: list[torch.Tensor], x: InRuns) -> list[torch.Tensor]:
        """What memories make of features; only a network with a memory has samples in runs."""
        raise NotImplementedError

    def to_engine(self, array: Any) -> Any:
        """A tensor on the network's device; on the CPU it shares the array's memory. A structured array
        becomes a tensor for each field; stacked frames stay a look-up of tensors."""
        if isinstance(array, torch.Tensor):
            return array
        if isinstance(array, StackedRows):
            return StackedRows(self.to_engine(array.frames), self.to_engine(array.index), array.flat)
        if array.dtype.names is not None:
            fields = {name: np.ascontiguousarray(array[name]) for name in array.dtype.names}
            return TensorParts({name: self.to_engine(field) for name, field in fields.items()})
        if not array.flags.writeable:  # torch has no read-only tensors
            array = array.copy()
        return torch.from_numpy(array).to(self.device)

    def put(self, place: torch.Tensor, array: np.ndarray) -> None:
        place.copy_(torch.from_numpy(array if array.flags.writeable else array.copy()))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.from_numpy(np.empty(0, dtype)).dtype, device=self.device)

    def arrange(self, x: Any) -> Any:
        """A rollout's input, on the device already, as minibatches of it are read fastest."""
        return self.encoder.arrange(x)

    def arrays(self) -> dict[str, np.ndarray]:
        tensors = self.views | self.buffers
        # In C order, whatever the order in memory: what is stored does not depend on the engine.
        return {name: tensor.detach().cpu().numpy().copy(order="C") for name, tensor in tensors.items()}

    @torch.no_grad()
    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        for name, tensor in (self.views | self.buffers).items():
            tensor.copy_(self.to_engine(arrays[name]))

    @torch.no_grad()
    def take_from(self, other: TorchNetwork) -> None:
        """Copy the weights of another network of the same layout and device."""
        self.parameters.copy_(other.parameters)
        for name, buffer in self.buffers.items():
            buffer.copy_(other.buffers[name])
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def beside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work with this network in a thread of its own; all of it is done when this returns."""
        if self._stream is None:
            return work(*arguments)
        with torch.cuda.stream(self._stream):
            result = work(*arguments)
        self._stream.synchronize()
        return result

    def _outputs(self, x: torch.Tensor) -> Outputs:
        return self._heads(*self.encoder.both(x))

    def _heads(self, actor_features: torch.Tensor, critic_features: torch.Tensor) -> Outputs:
        """Outputs, log std, values and top activations from what goes into the trunks."""
        actor_top = self._mlp(actor_features, self._actor)
        critic_top = actor_top if self.layout.config.shared else self._mlp(critic_features, self._critic)
        outputs, log_std = self.action_outputs(actor_top)
        if self._one_value:
            weight, bias = self.views["value_head.weight"], self.views["value_head.bias"]
            values = functional.linear(critic_top, weight, bias).squeeze(1)
        else:
            values = self._head("value_head", critic_top)
        return outputs, log_std, values, actor_top

    def _mlp(self, h: torch.Tensor, layers: list[Layer]) -> torch.Tensor:
        updating = torch.is_grad_enabled()  # acting and evaluating are done without gradients
        for weight, bias, gain, shift, mean, var in layers:
            assert weight is not None
            z = functional.linear(h, weight, bias)
            if mean is not None:
                z = functional.batch_norm(z, mean, var, gain, shift, updating, _BATCH_NORM_MOMENTUM, NORM_EPS)
            elif gain is not None:
                z = functional.layer_norm(z, gain.shape, gain, shift, NORM_EPS)
            h = self._activation(z)
            if self._dropout and updating:
                h = self._dropped(h)
        return h

    def _dropped(self, h: torch.Tensor) -> torch.Tensor:
        """As torch's own dropout, from this network's own generator."""
        generator = None if self._draws_globally else self._generator
        kept = 1.0 - self._dropout
        return h * torch.empty_like(h).bernoulli_(kept, generator=generator).div_(kept)

    def action_outputs(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs [A, B] and log std from the actor's top activations."""
        outputs = self._head("action_head", hidden)
        if self._std_from_state:
            return outputs, self._head("log_std_head", hidden)
        return outputs, None if self._fixed_std is None else self._fixed_std[:, None]

    def _head(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        """[A, B]: the action component first, as the distributions want it."""
        return torch.addmm(self.views[f"{name}.bias"][:, None], self.views[f"{name}.weight"], hidden.t())
