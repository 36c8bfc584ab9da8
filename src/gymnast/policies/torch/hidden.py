"""Looking into a torch network: the activations of encoder, memory and trunks for a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gymnast.policies.hidden import Hidden, Seen
from gymnast.policies.memory_state import InRuns

if TYPE_CHECKING:
    from gymnast.policies.torch.network import TorchNetwork

_NAMES: dict[type[nn.Module], str] = {
    nn.Tanh: "tanh",
    nn.ReLU: "relu",
    nn.LeakyReLU: "leaky_relu",
    nn.ELU: "elu",
    nn.SiLU: "silu",
    nn.GELU: "gelu",
}


@torch.inference_mode()
def look_into(network: TorchNetwork, x: Any) -> Seen:
    """All hidden layers for inputs [B, …], or for samples in runs where there is a memory."""
    layers: list[Hidden] = []
    with _watched(network, layers):
        features = list(network.encoder.both(x.x if isinstance(x, InRuns) else x))
    if isinstance(x, InRuns):
        features = network.recalled(features, x)
        named = zip(network.layout.memories, features, strict=False)
        layers += [Hidden(name, "tanh", values) for name, values in named]
    names = [name for trunk in network.layout.trunks for name in trunk.names]
    activation = network.layout.config.activation
    top = features[0]
    for name, below in zip(
        names, (features[0], features[-1]), strict=False
    ):  # actor and critic, or one trunk
        own = network.layers_of(name, below)
        layers += [Hidden(name, activation, values) for values in own]
        top = own[-1] if own and name == names[0] else top
    outputs, log_std = network.action_outputs(top)
    return Seen(
        tuple(layers), outputs.float().cpu().numpy(), None if log_std is None else log_std.cpu().numpy()
    )


@contextmanager
def _watched(network: TorchNetwork, layers: list[Hidden]) -> Iterator[None]:
    """Note what the activations inside the encoders give, as they are called."""
    hooks = []
    for part, modules in network.encoder.modules_of(network.layout.encoder_names):
        for module in modules:
            if (activation := _NAMES.get(type(module))) is not None:
                hooks.append(module.register_forward_hook(_noting(layers, part, activation)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _noting(layers: list[Hidden], part: str, activation: str) -> Any:
    def note(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor) and output.ndim >= 2:
            layers.append(Hidden(part, activation, output.float()))

    return note
