"""The layers of a network's image encoders that have places: convolutions, and what follows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from gymnast.errors import GymnastError, did_you_mean
from gymnast.insight.fields import Field, field_behind
from gymnast.insight.still import Parts, StillNetwork
from gymnast.policies.torch.images import ResidualBlock

_ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.SiLU, nn.GELU)
_NORMS = (nn.BatchNorm2d, nn.GroupNorm, nn.Dropout)


@dataclass(frozen=True)
class MapLayer:
    """A layer whose units lie on a grid of places."""

    name: str  # as the parameters of a checkpoint are named: encoder.0
    encoder: str  # encoder, actor_encoder or critic_encoder
    part: str  # of the observation; "" where that is the image itself
    kind: str  # in words
    channels: int
    height: int
    width: int
    conv: nn.Conv2d | None  # None: a sum of what was before, such as a residual block's
    output: nn.Module  # whose output the layer's activations are
    calls: int  # how often `output` was called before in one pass
    field: Field | None  # None: the way from the pixels is not known

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "encoder": self.encoder,
            "part": self.part,
            "kind": self.kind,
            "shape": [self.channels, self.height, self.width],
            "filters": None if self.conv is None else list(self.conv.weight.shape),
            "field": None if self.field is None else self.field.as_data(),
        }


@dataclass
class _Call:
    """One call of a module in a pass, in the order of their ends."""

    path: str
    module: nn.Module
    seen: torch.Tensor
    given: torch.Tensor
    field: Field | None
    number: int  # how often this module was called before


@dataclass
class _Calls:
    """What an encoder's modules saw and gave in one pass."""

    image: tuple[int, ...]
    calls: list[_Call] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)

    def note(self, path: str, module: nn.Module, seen: Any, given: Any) -> None:
        seen = seen[0] if seen else None
        number = self.counts.get(id(module), 0)
        self.counts[id(module)] = number + 1
        if not all(isinstance(x, torch.Tensor) and x.ndim == 4 for x in (seen, given)):
            return
        if list(module.children()):
            if isinstance(module, ResidualBlock):  # a sum of its input and what its convolutions make of it
                self.calls.append(_Call(path, module, seen, given, self.calls[-1].field, number))
            return
        before = self._field(seen)
        behind = None if before is None else field_behind(module, before)
        self.calls.append(_Call(path, module, seen, given, behind, number))

    def _field(self, seen: torch.Tensor) -> Field | None:
        """What a tensor's units see: it is what a module gave, or an element-wise function of it."""
        for call in reversed(self.calls):
            if call.given is seen:
                return call.field
        for call in reversed(self.calls):
            if call.given.shape == seen.shape:
                return call.field
        return Field() if tuple(seen.shape[1:]) == self.image else None


def map_layers(network: StillNetwork, parts: Parts) -> list[MapLayer]:
    """All layers with places, encoder by encoder, in the order in which an image goes through them."""
    found: list[MapLayer] = []
    for encoder in network.encoders:
        for part, x in zip(network.layout.inputs, parts, strict=True):
            if part.kind != "image":
                continue
            modules = network.modules_of(encoder)
            root = modules.get(part.leaf.name) or modules[""]
            if any(layer.output in root.modules() for layer in found):
                continue  # of an encoder of the user's own, which reads all parts
            calls = _Calls(tuple(x.shape[1:]))
            with _noted(root, calls), torch.no_grad():
                network.features(tuple(tensor[:1] for tensor in parts))
            found += _layers(encoder, part.leaf.name, calls.calls)
    return found


@contextmanager
def _noted(root: nn.Module, calls: _Calls) -> Iterator[None]:
    def noting(path: str) -> Any:
        return lambda module, seen, given: calls.note(path, module, seen, given)

    hooks = [module.register_forward_hook(noting(path)) for path, module in root.named_modules()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _layers(encoder: str, part: str, calls: Sequence[_Call]) -> list[MapLayer]:
    """A convolution together with the norm and the activation that directly follow it is one layer."""
    layers, used = [], set()
    for at, call in enumerate(calls):
        is_conv = isinstance(call.module, nn.Conv2d)
        if at in used or not (is_conv or isinstance(call.module, _ACTIVATIONS)):
            continue
        last, words = call, [_word(call.module)]
        for after, following in enumerate(calls[at + 1 :], at + 1):
            if following.seen is not last.given or not isinstance(following.module, _NORMS + _ACTIVATIONS):
                break
            used.add(after)
            last = following
            words.append(_word(following.module))
            if isinstance(following.module, _ACTIVATIONS):
                break
        channels, height, width = last.given.shape[1:]
        layers.append(
            MapLayer(
                ".".join(filter(None, (encoder, part, call.path))),
                encoder,
                part,
                ", ".join(words),
                int(channels),
                int(height),
                int(width),
                call.module if isinstance(call.module, nn.Conv2d) else None,
                last.module,
                last.number,
                last.field,
            )
        )
    return layers


def _word(module: nn.Module) -> str:
    if isinstance(module, nn.Conv2d):
        kernel, stride = module.kernel_size, module.stride
        size = f"{kernel[0]} × {kernel[1]}"
        return f"convolution {size}, stride {stride[0]}" if max(stride) > 1 else f"convolution {size}"
    if isinstance(module, nn.BatchNorm2d):
        return "batch norm"
    return type(module).__name__.lower() if isinstance(module, _ACTIVATIONS) else type(module).__name__


def choose_layer(layers: Sequence[MapLayer], name: str | None, encoder: str | None = None) -> MapLayer:
    """The layer of this name; without one the last of the encoder, where Grad-CAM looks."""
    if not layers:
        raise GymnastError(
            "this network has no convolutions: there are no filters, and nothing for Grad-CAM to look at"
        )
    if name is None:
        own = [layer for layer in layers if encoder in (None, layer.encoder)]
        return own[-1]
    for layer in layers:
        if layer.name == name:
            return layer
    names = [layer.name for layer in layers]
    raise GymnastError(f"no layer {name!r}{did_you_mean(name, names)}; there are {', '.join(names)}")


def activations_of(
    network: StillNetwork, layers: Sequence[MapLayer], parts: Parts
) -> dict[str, torch.Tensor]:
    """What layers give for a batch: [B, C, h, w] by their names."""
    given: dict[str, torch.Tensor] = {}
    counts: dict[int, int] = {}
    wanted: dict[int, list[MapLayer]] = {}
    for layer in layers:
        wanted.setdefault(id(layer.output), []).append(layer)

    def note(module: nn.Module, _seen: Any, output: Any) -> None:
        number = counts.get(id(module), 0)
        counts[id(module)] = number + 1
        for layer in wanted[id(module)]:
            if layer.calls == number:
                given[layer.name] = output

    hooks = [own[0].output.register_forward_hook(note) for own in wanted.values()]
    try:
        with torch.no_grad():
            network.features(parts)
    finally:
        for hook in hooks:
            hook.remove()
    return given
