"""The shape of a policy: what both engines agree on.

A layout names every parameter and its shape in the order of one flat vector. Both engines use
these names and shapes, so a checkpoint of one loads in the other. Where actor and critic have the
same widths, their layers lie side by side in the vector: the NumPy engine runs both trunks as one
stacked matrix product, which halves the number of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.policies.settings import PolicyConfig

_ROOT_2 = 2**0.5
HIDDEN_GAIN = {
    "tanh": 5 / 3,
    "relu": _ROOT_2,
    "leaky_relu": _ROOT_2,
    "elu": _ROOT_2,
    "silu": _ROOT_2,
    "gelu": _ROOT_2,
}


@dataclass(frozen=True, slots=True)
class Trunk:
    """One or two stacked MLPs with the same widths."""

    names: tuple[str, ...]  # ("actor", "critic"), ("trunk",), ("actor",) or ("critic",)
    widths: tuple[int, ...]  # input first


@dataclass(frozen=True, slots=True)
class PolicyLayout:
    """Everything that fixes a policy's parameters and their meaning."""

    config: PolicyConfig
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    input_size: int  # width of the first layer's input
    n_outputs: int  # logits, or means of a Gaussian
    continuous: bool
    n_embeddings: int  # rows of the embedding table; 0 without one

    @property
    def feature_size(self) -> int:
        """Width of what the encoder gives."""
        return self.input_size

    @property
    def trunk_input(self) -> int:
        """Width of the trunks' input."""
        return self.feature_size

    @property
    def trunks(self) -> tuple[Trunk, ...]:
        actor = (self.trunk_input, *self.config.hidden)
        if self.config.shared:
            return (Trunk(("trunk",), actor),)
        own = self.config.critic_hidden
        critic = (self.trunk_input, *(self.config.hidden if own is None else own))
        if actor == critic:
            return (Trunk(("actor", "critic"), actor),)
        return (Trunk(("actor",), actor), Trunk(("critic",), critic))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every parameter, in the order of the flat vector."""
        shapes: dict[str, tuple[int, ...]] = {}
        if self.n_embeddings:
            shapes["embedding.weight"] = (self.n_embeddings, self.input_size)
        for trunk in self.trunks:
            for layer, (n_in, n_out) in enumerate(zip(trunk.widths, trunk.widths[1:], strict=False)):
                shapes |= {f"{name}.{layer}.weight": (n_out, n_in) for name in trunk.names}
                shapes |= {f"{name}.{layer}.bias": (n_out,) for name in trunk.names}
                if self.config.layer_norm:
                    shapes |= {f"{name}.{layer}.norm.weight": (n_out,) for name in trunk.names}
                    shapes |= {f"{name}.{layer}.norm.bias": (n_out,) for name in trunk.names}
        actor_out, critic_out = self.trunks[0].widths[-1], self.trunks[-1].widths[-1]
        shapes["action_head.weight"] = (self.n_outputs, actor_out)
        shapes["action_head.bias"] = (self.n_outputs,)
        if self.continuous and self.config.state_dependent_std:
            shapes["log_std_head.weight"] = (self.n_outputs, actor_out)
            shapes["log_std_head.bias"] = (self.n_outputs,)
        elif self.continuous:
            shapes["log_std"] = (self.n_outputs,)
        shapes["value_head.weight"] = (1, critic_out)
        shapes["value_head.bias"] = (1,)
        return shapes

    @property
    def n_parameters(self) -> int:
        return sum(prod(shape) for shape in self.shapes().values())


def build_layout(
    config: PolicyConfig, observation_space: gym.Space[Any], action_space: gym.Space[Any]
) -> PolicyLayout:
    """The layout of a policy for these spaces."""
    n_embeddings = 0
    match observation_space:
        case gym.spaces.Discrete(n=n):
            if config.discrete_obs == "embedding":
                input_size, n_embeddings = config.embedding_size, int(n)
            else:
                input_size = int(n)
        case gym.spaces.Box(shape=shape):
            input_size = prod(shape)
        case _:
            raise GymnastError(f"observations of {observation_space} are not supported: Box and Discrete are")
    match action_space:
        case gym.spaces.Discrete(n=n):
            n_outputs, continuous = int(n), False
        case gym.spaces.Box(shape=shape) if len(shape) == 1:
            n_outputs, continuous = shape[0], True
        case _:
            raise GymnastError(
                f"actions of {action_space} are not supported: Discrete and one-dimensional Box are"
            )
    return PolicyLayout(
        config, observation_space, action_space, input_size, n_outputs, continuous, n_embeddings
    )


def init_parameters(layout: PolicyLayout, seed: int) -> dict[str, np.ndarray]:
    """Orthogonal weights, zero biases; the action head is small, so the first policy is near uniform."""
    rng = np.random.default_rng([seed, 0x1417])
    config = layout.config
    parameters: dict[str, np.ndarray] = {}
    small = config.actor_gain
    gains = {"action_head.weight": small, "log_std_head.weight": small, "value_head.weight": 1.0}
    for name, shape in layout.shapes().items():
        value = np.zeros(shape, np.float32)
        if name == "embedding.weight":
            value = rng.standard_normal(shape).astype(np.float32)
        elif name == "log_std" or name == "log_std_head.bias":
            value.fill(config.log_std_init)
        elif name.endswith("norm.weight"):
            value.fill(1.0)
        elif name.endswith(".weight"):
            value = _orthogonal(rng, shape, gains.get(name, HIDDEN_GAIN[config.activation]))
        parameters[name] = value
    return parameters


def _orthogonal(rng: np.random.Generator, shape: tuple[int, ...], gain: float) -> np.ndarray:
    rows, columns = shape
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # makes the draw uniform over orthogonal matrices
    return np.ascontiguousarray((q if rows >= columns else q.T) * gain, np.float32)
