"""A stand-alone network: a stack of E members of the same widths, each an MLP with a linear last layer.

For whatever learns beside the policy: random network distillation, inverse models, ensembles. It knows no
spaces and no policy; like a policy's network it keeps all parameters in one flat vector, which the
optimisers of `optimizers/` move.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from gymnast.errors import GymnastError, MissingExtra
from gymnast.policies.flat import HIDDEN_GAIN, layer_shapes, orthogonal

Array = Any  # numpy.ndarray or torch.Tensor


class Stack(Protocol):
    """On either engine; E members, B rows, D inputs, O outputs."""

    xp: ModuleType  # numpy or torch
    members: int
    widths: tuple[int, ...]  # D, the hidden layers', O
    parameters: Array  # [P] all of them in one flat vector, which an optimiser moves in place
    gradients: Array  # [P]
    critic_spans: list[slice]  # none

    def forward(self, x: Array) -> Array:
        """Outputs [E, B, O] of inputs [B, D], or of [E, B, D] with one for each member; keeps what backward
        needs."""

    def infer(self, x: Array) -> Array:
        """As forward, with no backward pass to follow, not of an earlier forward pass either."""

    def backward(self, d_outputs: Array, want_input: bool = False) -> Array | None:
        """The gradient of the last forward pass, into the flat gradient vector; that of the input, in the
        input's own shape, if wanted."""

    def to_engine(self, array: np.ndarray) -> Array:
        """A NumPy array as the engine's own."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters by name; copies."""

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take parameters by name."""


def build_stack(
    widths: tuple[int, ...],
    *,
    members: int = 1,
    activation: str = "relu",
    engine: str,
    seed: int,
    layer_norm: bool = False,
    device: str = "cpu",
) -> Stack:
    """A new stack with orthogonal weights, other ones for each member; `device` matters to torch alone."""
    shapes = _shapes(widths, members, layer_norm)
    stack: Stack
    if engine == "torch":
        if find_spec("torch") is None:
            raise MissingExtra("engine: torch", "torch")
        from gymnast.policies.torch.stack import TorchStack

        stack = TorchStack(widths, members, activation, layer_norm, shapes, device)
    else:
        from gymnast.policies.numpy.stack import NumpyStack

        stack = NumpyStack(widths, members, activation, layer_norm, shapes)
    rng = np.random.default_rng([seed, 0x57AC])
    gains = [HIDDEN_GAIN[activation]] * (len(widths) - 2) + [1.0]
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    for layer, gain in enumerate(gains):
        weights = arrays[f"{layer}.weight"]
        for member in weights:
            member[...] = orthogonal(rng, member.shape, gain)
        if f"{layer}.norm.weight" in arrays:
            arrays[f"{layer}.norm.weight"].fill(1.0)
    stack.load_arrays(arrays)
    return stack


def check_arrays(shapes: Mapping[str, tuple[int, ...]], arrays: Mapping[str, np.ndarray]) -> None:
    """Names and shapes must be those of this stack."""
    held = {name: np.shape(value) for name, value in arrays.items()}
    for name in [*shapes, *held]:
        if held.get(name) != shapes.get(name):
            raise GymnastError(
                f"the stored network's '{name}' is {held.get(name, 'missing')}, "
                f"{shapes.get(name, 'unknown')} in this one: it was made with other settings"
            )


def _shapes(widths: tuple[int, ...], members: int, layer_norm: bool) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter, in the order of the flat vector."""
    last = len(widths) - 2
    return {
        f"{layer}.{part}": (members, *shape)
        for layer, (n_in, n_out) in enumerate(pairwise(widths))
        for part, shape in layer_shapes(n_in, n_out, normed=layer_norm and layer < last).items()
    }
