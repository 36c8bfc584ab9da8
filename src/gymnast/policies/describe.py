"""What a policy is made of: a tree of its layers with output shapes and parameter counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

from gymnast.policies.inputs import Input
from gymnast.policies.layout import PolicyLayout


@dataclass(slots=True)
class Node:
    """A part of the network; a batch of it has one more axis in front of `output`."""

    name: str
    kind: str
    output: tuple[int, ...] | None
    parameters: int
    parts: list[Node] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        data: dict[str, Any] = {"name": self.name, "kind": self.kind, "parameters": self.parameters}
        if self.output is not None:
            data["output"] = list(self.output)
        if self.parts:
            data["parts"] = [part.as_data() for part in self.parts]
        return data


def describe_policy(layout: PolicyLayout) -> Node:
    """The whole network, in the order in which an observation goes through it."""
    shapes = layout.shapes()
    counted: set[str] = set()

    def count(prefix: str) -> int:
        names = [name for name in shapes if name == prefix or name.startswith(f"{prefix}.")]
        counted.update(names)
        return sum(prod(shapes[name]) for name in names)

    parts = [_observation(layout)]
    if layout.n_embeddings:
        parts.append(
            Node("embedding", f"{layout.n_embeddings} rows", (layout.input_size,), count("embedding"))
        )
    for name in layout.encoder_names:
        from gymnast.policies.torch.describe import encoder_node

        parts.append(encoder_node(layout, name))
        count(name)
    for name in layout.memories:
        kind = layout.config.memory.upper()
        parts.append(Node(name, kind, (layout.config.memory_size,), count(name)))
    for trunk in layout.trunks:
        for name in trunk.names:
            layers = [
                Node(str(at), _layer_kind(layout, n_in, n_out), (n_out,), count(f"{name}.{at}"))
                for at, (n_in, n_out) in enumerate(pairwise(trunk.widths))
            ]
            total = sum(layer.parameters for layer in layers)
            parts.append(Node(name, "MLP" if layers else "none", (trunk.widths[-1],), total, layers))
    parts.append(Node("action_head", "Linear", (layout.n_outputs,), count("action_head")))
    if layout.continuous:
        name = "log_std_head" if layout.config.state_dependent_std else "log_std"
        parts.append(
            Node(name, "Linear" if name == "log_std_head" else "one each", (layout.n_means,), count(name))
        )
    parts.append(Node("value_head", "Linear", (len(layout.value_heads),), count("value_head")))
    parts += [
        Node(name, "parameter", shape, prod(shape)) for name, shape in shapes.items() if name not in counted
    ]
    return Node("policy", "actor-critic", None, layout.n_parameters, parts)


def _layer_kind(layout: PolicyLayout, n_in: int, n_out: int) -> str:
    config = layout.config
    words = [f"Linear {n_in} → {n_out}"]
    words += ["layer norm"] if config.layer_norm else []
    words += ["batch norm"] if config.batch_norm else []
    words.append(config.activation)
    words += [f"dropout {config.dropout:g}"] if config.dropout else []
    return ", ".join(words)


def _observation(layout: PolicyLayout) -> Node:
    leaves = [_input_node(layout, part) for part in layout.inputs]
    if len(leaves) == 1 and not layout.inputs[0].leaf.name:
        return leaves[0]
    joined = None if layout.encoder is not None else (layout.input_size,)
    return Node("observation", type(layout.observation_space).__name__, joined, 0, leaves)


def _input_node(layout: PolicyLayout, part: Input) -> Node:
    k, name = layout.config.frame_stack, part.leaf.name or "observation"
    stacked = f", {k} frames" if k > 1 else ""
    if part.image is not None:
        form = part.image
        kind = f"image {form.order.upper()} {part.leaf.dtype}{stacked}"
        return Node(name, kind, (form.channels * max(form.stack, 1) * k, form.height, form.width), 0)
    if part.kind == "index":
        return Node(name, f"one of {part.width}{stacked}", (k,) if k > 1 else (), 0)
    kind = "one-hot" if part.kind == "one_hot" else "numbers"
    return Node(name, f"{kind}{stacked}", (part.width * k,), 0)
