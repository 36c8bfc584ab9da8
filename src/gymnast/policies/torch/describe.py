"""The modules of an encoder as a tree, with the shapes that a dry run of zeros gives."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from gymnast.policies.describe import Node
from gymnast.policies.layout import PolicyLayout
from gymnast.policies.torch.encoder import Encoder


def encoder_node(layout: PolicyLayout, name: str) -> Node:
    """One encoder: its modules, what each gives, and the joined features."""
    with torch.random.fork_rng(devices=[]):
        encoder = Encoder(layout.config, layout.inputs)
    shapes: dict[int, tuple[int, ...]] = {}

    def note(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            shapes[id(module)] = tuple(output.shape[1:])

    for root in encoder.modules.values():
        for module in root.modules():
            module.register_forward_hook(note)
    features = encoder.dry_run()
    roots = [_node(part or layout.config.encoder, module, shapes) for part, module in encoder.modules.items()]
    joined = "joined with the numbers" if len(encoder.inputs) > len(roots) and not encoder.own else "joined"
    if len(roots) == 1 and len(encoder.inputs) == 1:
        return Node(
            name,
            type(next(iter(encoder.modules.values()))).__name__,
            tuple(features.shape[1:]),
            roots[0].parameters,
            roots[0].parts,
        )
    return Node(name, joined, tuple(features.shape[1:]), sum(root.parameters for root in roots), roots)


def _node(name: str, module: nn.Module, shapes: dict[int, tuple[int, ...]]) -> Node:
    children = [_node(child_name, child, shapes) for child_name, child in module.named_children()]
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return Node(name, _kind(module), shapes.get(id(module)), parameters, children)


def _kind(module: nn.Module) -> str:
    name = type(module).__name__
    if isinstance(module, nn.Conv2d):
        name = nn.Conv2d.__name__  # also for the one that divides pixels
        stride = f", stride {module.stride[0]}" if module.stride[0] != 1 else ""
        return f"{name} {module.kernel_size[0]} × {module.kernel_size[1]}{stride}"
    return name
