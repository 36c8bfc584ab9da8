"""Parameters of the torch engine: leaves that share the memory of one flat vector, as their `.grad`s do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.autograd import Variable
from torch.nn import functional

from gymnast.policies.flat import spans_of

NORM_EPS = 1e-5

ACTIVATIONS = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "silu": functional.silu,
    "gelu": lambda z: functional.gelu(z, approximate="tanh"),
}


class FlatParameters:
    """Two flat vectors, and the parameters that are views of them."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], device: torch.device) -> None:
        spans = spans_of(shapes)
        self.vector = torch.zeros(max(span.stop for span in spans.values()), device=device)
        self.gradients = torch.zeros_like(self.vector)
        self.views: dict[str, torch.Tensor] = {}
        for name, shape in shapes.items():
            view = torch.nn.Parameter(_shaped(self.vector[spans[name]], shape))
            view.grad = _shaped(self.gradients[spans[name]], shape)
            self.views[name] = view


def run_backward(
    roots: Sequence[torch.Tensor], derivatives: Sequence[Any], inputs: Sequence[torch.Tensor] = ()
) -> None:
    """Add derivatives to the `.grad` of all leaves, or of `inputs` alone.

    What torch.autograd.backward calls, without its check of shapes, which imports sympy (0.35 s).
    """
    # Arguments: keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad.
    Variable._execution_engine.run_backward(
        tuple(roots), tuple(derivatives), False, False, tuple(inputs), True, True
    )


def _shaped(flat: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """A span of a flat vector in its shape; filters [O, I, H, W] lie with their channels last."""
    if len(shape) != 4:
        return flat.view(shape)
    out, channels, height, width = shape
    return flat.view(out, height, width, channels).permute(0, 3, 1, 2)
