"""Filters, what layers give at one row, and which units never do anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from gymnast.errors import GymnastError
from gymnast.insight.layers import activations_of, choose_layer
from gymnast.insight.quiet import random_numbers_kept
from gymnast.insight.subject import Subject, batch, chunks
from gymnast.observe.network import LEAST_STD, SATURATED

_NAMES = {
    nn.Tanh: "tanh",
    nn.ReLU: "relu",
    nn.LeakyReLU: "leaky_relu",
    nn.ELU: "elu",
    nn.SiLU: "silu",
    nn.GELU: "gelu",
}


@dataclass(frozen=True, slots=True)
class LayerActivations:
    """What one layer gives at a row."""

    name: str
    values: np.ndarray  # [C, h, w] of a convolution, [H] of other layers

    @property
    def winners(self) -> np.ndarray | None:
        """[h, w]: the strongest filter at each place, -1 where none is above 0; None without places."""
        if self.values.ndim != 3:
            return None
        return np.where(self.values.max(0) > 0, self.values.argmax(0), -1)


@dataclass(frozen=True, slots=True)
class UnitReport:
    """The units of one layer over a recording. Of a convolution they are its filters, over all places.

    `dead`: a ReLU that is never above 0, or any other unit whose output hardly changes (std below 0.001).
    `saturated`: a tanh that is beyond ±0.97 at every row, so that almost no gradient passes.
    """

    name: str
    activation: str
    units: int
    dead: tuple[int, ...]
    saturated: tuple[int, ...]

    @property
    def dead_share(self) -> float:
        return len(self.dead) / self.units

    @property
    def saturated_share(self) -> float:
        return len(self.saturated) / self.units


def filters(subject: Subject, layer: str | None = None) -> np.ndarray:
    """The weights [O, I, h, w] of a convolution, the first if none is named."""
    layers = [known for known in subject.layers if known.conv is not None]
    chosen = choose_layer(subject.layers if layer is not None else layers[:1], layer)
    if chosen.conv is None:
        raise GymnastError(f"layer {chosen.name} adds up what was before and has no filters of its own")
    return chosen.conv.weight.detach().numpy().copy(order="C")


def activations(subject: Subject, row: int) -> list[LayerActivations]:
    """What every layer gives at a row: convolutions, the encoders' features, memories and trunks."""
    subject.check_row(row)
    found = []
    for name, _, values in _all_layers(subject, np.array([row])):
        found.append(LayerActivations(name, values[0].numpy().copy()))
    return found


def unit_reports(subject: Subject) -> list[UnitReport]:
    """Dead and saturated units of each hidden layer over the whole recording."""
    kinds: dict[str, str] = {}
    counts: dict[str, int] = {}
    largest: dict[str, torch.Tensor] = {}
    least: dict[str, torch.Tensor] = {}  # of the size
    moments: dict[str, list[torch.Tensor]] = {}
    for rows in chunks(np.arange(len(subject.trace))):
        for name, kind, values in _all_layers(subject, rows):
            if kind is None:
                continue
            flat = values.transpose(0, 1).flatten(1)  # [units, samples]
            kinds[name] = kind
            counts[name] = counts.get(name, 0) + flat.shape[1]
            top, low = flat.amax(1), flat.abs().amin(1)
            largest[name] = torch.maximum(largest[name], top) if name in largest else top
            least[name] = torch.minimum(least[name], low) if name in least else low
            wide = flat.to(torch.float64)
            sums = [wide.sum(1), (wide * wide).sum(1)]
            moments[name] = (
                [a + b for a, b in zip(moments[name], sums, strict=True)] if name in moments else sums
            )
    reports = []
    for name, kind in kinds.items():
        if kind == "relu":
            dead = largest[name] <= 0
        else:
            mean, square = (total / counts[name] for total in moments[name])
            dead = (square - mean * mean).clamp(min=0).sqrt() < LEAST_STD
        saturated = least[name] > SATURATED if kind == "tanh" else torch.zeros_like(dead)
        # What is stuck at ±1 hardly changes either: it is named once, by its cause.
        dead = dead & ~saturated
        reports.append(UnitReport(name, kind, len(dead), _indices(dead), _indices(saturated)))
    return reports


def _indices(mask: torch.Tensor) -> tuple[int, ...]:
    return tuple(torch.nonzero(mask).flatten().tolist())


def _all_layers(subject: Subject, rows: np.ndarray) -> Iterator[tuple[str, str | None, torch.Tensor]]:
    """Name, activation (None: there is none) and values [B, …] of every hidden layer."""
    network, layers = subject.network, subject.layers
    parts, (_, _, states) = batch(subject, rows)
    with random_numbers_kept(), torch.no_grad():
        given = activations_of(network, layers, parts)
        for layer in layers:
            yield layer.name, _NAMES.get(type(layer.output)), given[layer.name]
        features = network.features(parts)
        last = [_activation_at_end(network.modules_of(name)) for name in network.encoders]
        for name, own, kind in zip(network.encoders, features, last, strict=False):
            yield f"{name} features", kind, own
        below = network.remembered(features, states)
        for name, own in zip(network.layout.memories, below, strict=False):
            yield name, "tanh", own
        names = list(dict.fromkeys(network.trunks))
        for name, own in zip(names, (below[0], below[-1]), strict=False):
            for at, values in enumerate(network.trunk_layers(name, own)):
                yield f"{name}.{at}", network.layout.config.activation, values


def _activation_at_end(modules: dict[str, nn.Module]) -> str | None:
    """The activation that the features of an encoder come from; None where several parts are joined."""
    if len(modules) != 1:
        return None
    ends = [module for module in next(iter(modules.values())).modules() if not list(module.children())]
    return next((_NAMES[type(module)] for module in ends[::-1][:2] if type(module) in _NAMES), None)
