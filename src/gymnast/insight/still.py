"""A copy of a policy's network to look into: gradients flow through it, and nothing in it ever changes.

It has the weights of either engine, in float32 on the CPU. A network that is trained takes a pass with
gradients for an update: dropout drops, batch norm goes by the batch. Here it acts, with gradients too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gymnast.policies.inputs import Input
from gymnast.policies.layout import PolicyLayout
from gymnast.policies.memory_state import RunGroup, Runs
from gymnast.policies.torch.encoder import Encoder
from gymnast.policies.torch.flat import ACTIVATIONS, NORM_EPS
from gymnast.policies.torch.memory import TorchMemory, TorchState
from gymnast.policies.torch.tensors import PixelsLast, TensorParts

# What a network reads, one float tensor for each part of an observation: images [B, C, H, W] with the stacked
# frames along C, numbers [B, D], choices that are embedded as one-hot rows [B, k, n].
Parts = tuple[torch.Tensor, ...]
Outputs = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]  # [A, B]; log std [A, 1 or B]; values [V, B]


class StillEncoder(Encoder):
    """Acts, whether or not gradients are taken; reads choices as one-hot rows, which have gradients."""

    def features(self, x: Any) -> torch.Tensor:
        for module in self.modules.values():
            module.eval()
        return self._features(x)

    def _part(self, part: Input, x: Any) -> torch.Tensor:
        if part.kind == "index" and x.is_floating_point():
            table = self.modules[part.leaf.name].weight
            assert isinstance(table, torch.Tensor)
            return (x @ table).flatten(1)
        return super()._part(part, x)


class StillNetwork:
    """From the parts of an observation to outputs and values."""

    def __init__(self, layout: PolicyLayout, arrays: Mapping[str, np.ndarray]) -> None:
        self.layout = layout
        self.views: dict[str, torch.Tensor] = {
            name: _parameter(arrays[name], shape) for name, shape in layout.shapes().items()
        }
        self.buffers = {name: torch.from_numpy(arrays[name].copy()) for name in layout.buffers()}
        self.encoders: dict[str, StillEncoder] = {}
        for name in layout.encoder_names:
            encoder = StillEncoder(layout.config, layout.inputs)
            encoder.bind(name, self.views, self.buffers)
            self.encoders[name] = encoder
        self.memory = TorchMemory(layout, self.views) if layout.memories else None
        self._activation = ACTIVATIONS[layout.config.activation]
        names = [name for trunk in layout.trunks for name in trunk.names]
        self.trunks = (names[0], names[-1])  # of actor and critic

    def outputs(self, parts: Parts, states: torch.Tensor | None = None) -> Outputs:
        """Outputs, log std and values; with a memory from states [B, K, H]."""
        return self.heads(*self.remembered(self.features(parts), states))

    def features(self, parts: Parts) -> list[torch.Tensor]:
        """What goes into memory or trunks, of actor and critic: [B, F] each, once if it is the same."""
        if self.encoders:
            x = self._arranged(parts)
            return [encoder.features(x) for encoder in self.encoders.values()]
        table = self.views.get("embedding.weight")
        return [parts[0] if table is None else parts[0][:, 0] @ table]

    def remembered(self, features: list[torch.Tensor], states: torch.Tensor | None) -> list[torch.Tensor]:
        """What goes into the trunks of actor and critic, [B, F] each."""
        both = [features[0], features[-1]]
        if self.memory is None:
            return both
        assert states is not None, "a memory needs the states before these observations"
        n = len(features[0])
        one_step = RunGroup(1, n, torch.arange(n), states.transpose(0, 1).contiguous())
        hidden = self.memory.run(both, Runs((one_step,)))
        return [hidden[0], hidden[-1]]

    def heads(self, actor: torch.Tensor, critic: torch.Tensor) -> Outputs:
        top = self.trunk(self.trunks[0], actor)
        own = top if self.layout.config.shared else self.trunk(self.trunks[1], critic)
        outputs = self._head("action_head", top)
        values = self._head("value_head", own)
        if self.layout.continuous and self.layout.config.state_dependent_std:
            return outputs, self._head("log_std_head", top), values
        fixed = self.views.get("log_std")
        return outputs, None if fixed is None else fixed[:, None], values

    def trunk(self, name: str, h: torch.Tensor) -> torch.Tensor:
        return [h, *self.trunk_layers(name, h)][-1]

    def trunk_layers(self, name: str, h: torch.Tensor) -> Iterator[torch.Tensor]:
        """What each hidden layer of an MLP gives."""
        at = 0
        while (weight := self.views.get(f"{name}.{at}.weight")) is not None:
            z = functional.linear(h, weight, self.views.get(f"{name}.{at}.bias"))
            norm = f"{name}.{at}.norm"
            gain, shift = self.views.get(f"{norm}.weight"), self.views.get(f"{norm}.bias")
            mean, var = self.buffers.get(f"{norm}.running_mean"), self.buffers.get(f"{norm}.running_var")
            if mean is not None:
                z = functional.batch_norm(z, mean, var, gain, shift, False, 0.0, NORM_EPS)
            elif gain is not None:
                z = functional.layer_norm(z, gain.shape, gain, shift, NORM_EPS)
            yield (h := self._activation(z))
            at += 1

    def start(self, n: int) -> TorchState:
        """The empty memory of n episodes, of actor and critic."""
        assert self.memory is not None
        return self.memory.start(n, len(self.layout.memories), torch.device("cpu"))

    def modules_of(self, name: str) -> dict[str, nn.Module]:
        """An encoder's modules by the name of the part that they read."""
        return self.encoders[name].modules

    def _arranged(self, parts: Parts) -> Any:
        named: dict[str, Any] = {}
        for part, x in zip(self.layout.inputs, parts, strict=True):
            if part.kind == "image":
                named[part.leaf.name] = PixelsLast(x.permute(0, 2, 3, 1))
            elif part.kind == "index" and self._own_encoder:
                named[part.leaf.name] = x.argmax(-1)  # as it was given: there is no gradient of a choice
            else:
                named[part.leaf.name] = x
        return named[""] if set(named) == {""} else TensorParts(named)

    @property
    def _own_encoder(self) -> bool:
        return self.layout.encoder is not None and self.layout.encoder.own

    def _head(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        return functional.linear(hidden, self.views[f"{name}.weight"], self.views[f"{name}.bias"]).t()


def _parameter(array: np.ndarray, shape: Sequence[int]) -> nn.Parameter:
    tensor = torch.from_numpy(np.array(array, np.float32).reshape(shape))
    if tensor.ndim == 4:  # as convolutions are fastest
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    return nn.Parameter(tensor, requires_grad=False)
