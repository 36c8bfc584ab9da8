"""The shape of a policy: what both engines agree on.

A layout names every parameter and its shape in the order of one flat vector. Both engines use
these names and shapes, so a checkpoint of one loads in the other. Where actor and critic have the
same widths, their layers lie side by side in the vector: the NumPy engine runs both trunks as one
stacked matrix product, which halves the number of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.policies.encoder_layout import EncoderLayout, describe_encoder
from gymnast.policies.flat import HIDDEN_GAIN, layer_shapes, orthogonal, spans_of
from gymnast.policies.inputs import Input, build_inputs
from gymnast.policies.settings import PolicyConfig
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.observation_form import ObservationForm

MEMORY_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # as torch names them


@dataclass(frozen=True, slots=True)
class Trunk:
    """One or two stacked MLPs with the same widths."""

    names: tuple[str, ...]  # ("actor", "critic"), ("trunk",), ("actor",) or ("critic",)
    widths: tuple[int, ...]  # input first


@dataclass(frozen=True)
class PolicyLayout:
    """Everything that fixes a policy's parameters and their meaning."""

    config: PolicyConfig
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    input_size: int  # width of the first layer's input
    n_outputs: int  # logits of choices, then means of real numbers
    n_means: int  # how many of the outputs are means
    n_embeddings: int  # rows of the embedding table; 0 without one
    inputs: tuple[Input, ...] = ()  # what becomes of each leaf of an observation
    encoder: EncoderLayout | None = None  # between the preprocessed observation and the trunks (torch only)
    value_heads: tuple[str, ...] = ("value",)  # each is a row of the value head's weights

    @property
    def encoder_names(self) -> tuple[str, ...]:
        """Encoders: none, one for actor and critic, or one each."""
        if self.encoder is None:
            return ()
        return ("actor_encoder", "critic_encoder") if self.config.shared_encoder is False else ("encoder",)

    @property
    def continuous(self) -> bool:
        """Whether there is a std: some part of an action is a real number."""
        return self.n_means > 0

    @property
    def feature_size(self) -> int:
        """Width of what the encoder gives."""
        return self.input_size if self.encoder is None else self.encoder.features

    @property
    def trunk_input(self) -> int:
        """Width of the trunks' input."""
        return self.config.memory_size if self.memories else self.feature_size

    @property
    def memories(self) -> tuple[str, ...]:
        """Recurrent layers between encoder and trunks: none, one, or one each for actor and critic."""
        if self.config.memory == "none":
            return ()
        return ("memory",) if self.config.shared else ("actor_memory", "critic_memory")

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
        for encoder in self.encoder_names:
            assert self.encoder is not None
            shapes |= {f"{encoder}.{name}": shape for name, shape in self.encoder.shapes.items()}
        for memory in self.memories:
            size = self.config.memory_size
            rows = (4 if self.config.memory == "lstm" else 3) * size  # one block of rows for each gate
            sizes = ((rows, self.feature_size), (rows, size), (rows,), (rows,))
            shapes |= {f"{memory}.{part}": shape for part, shape in zip(MEMORY_PARTS, sizes, strict=True)}
        for trunk in self.trunks:
            for layer, (n_in, n_out) in enumerate(zip(trunk.widths, trunk.widths[1:], strict=False)):
                parts = layer_shapes(n_in, n_out, normed=self.config.layer_norm or self.config.batch_norm)
                for part, shape in parts.items():
                    shapes |= {f"{name}.{layer}.{part}": shape for name in trunk.names}
        actor_out, critic_out = self.trunks[0].widths[-1], self.trunks[-1].widths[-1]
        shapes["action_head.weight"] = (self.n_outputs, actor_out)
        shapes["action_head.bias"] = (self.n_outputs,)
        if self.continuous and self.config.state_dependent_std:
            shapes["log_std_head.weight"] = (self.n_means, actor_out)
            shapes["log_std_head.bias"] = (self.n_means,)
        elif self.continuous:
            shapes["log_std"] = (self.n_means,)
        shapes["value_head.weight"] = (len(self.value_heads), critic_out)
        shapes["value_head.bias"] = (len(self.value_heads),)
        return shapes

    def spans(self) -> dict[str, slice]:
        """Where each parameter lies in the flat vector."""
        return self._spans

    @cached_property
    def _spans(self) -> dict[str, slice]:
        return spans_of(self.shapes())

    def empty_values(self, n: int) -> np.ndarray:
        """Room for the values of n observations: [n], or [V, n] of several heads."""
        heads = len(self.value_heads)
        return np.empty(n if heads == 1 else (heads, n), np.float32)

    def critic_spans(self) -> list[slice]:
        """Where the critic's own parameters lie in the flat vector, neighbours joined."""
        joined: list[slice] = []
        for name, span in self.spans().items():
            if not name.startswith(("critic", "value_head")):
                continue
            if joined and joined[-1].stop == span.start:
                joined[-1] = slice(joined[-1].start, span.stop)
            else:
                joined.append(span)
        return joined

    def buffers(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Name, shape and dtype of what a network keeps beside its parameters: batch norm's statistics."""
        buffers: dict[str, tuple[tuple[int, ...], str]] = {}
        for encoder in self.encoder_names:
            assert self.encoder is not None
            buffers |= {f"{encoder}.{name}": kind for name, kind in self.encoder.buffers.items()}
        if self.config.batch_norm:
            for trunk in self.trunks:
                for name in trunk.names:
                    for layer, width in enumerate(trunk.widths[1:]):
                        for what in ("running_mean", "running_var"):
                            buffers[f"{name}.{layer}.norm.{what}"] = ((width,), "float32")
        return buffers

    @property
    def n_parameters(self) -> int:
        return max(span.stop for span in self.spans().values())


def build_layout(
    config: PolicyConfig,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    value_heads: tuple[str, ...] = ("value",),
) -> PolicyLayout:
    """The layout of a policy for these spaces, with a value head for each stream of rewards."""
    inputs = build_inputs(config, ObservationForm(observation_space))
    encoder = describe_encoder(config, inputs)
    n_embeddings = inputs[0].width if inputs[0].kind == "index" and encoder is None else 0
    width = config.embedding_size if n_embeddings else sum(part.width for part in inputs)
    input_size = width * config.frame_stack
    form = ActionForm(action_space)
    n_outputs = form.n_logits + form.n_means
    return PolicyLayout(
        config,
        observation_space,
        action_space,
        input_size,
        n_outputs,
        form.n_means,
        n_embeddings,
        inputs,
        encoder,
        value_heads,
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
        elif layout.encoder_names and name.startswith(layout.encoder_names):
            value = _init_encoder(rng, layout, name, shape)
        elif name.endswith("norm.weight"):
            value.fill(1.0)
        elif "memory." in name:
            value = _init_memory(rng, name, shape, config)
        elif name.endswith(".weight"):
            value = orthogonal(rng, shape, gains.get(name, HIDDEN_GAIN[config.activation]))
        parameters[name] = value
    for name, (shape, dtype) in layout.buffers().items():
        parameters[name] = np.full(shape, 1 if name.endswith("running_var") else 0, dtype)
    return parameters | _own_encoder(layout, seed)


def _own_encoder(layout: PolicyLayout, seed: int) -> dict[str, np.ndarray]:
    """The first weights of an encoder of the user's own, which it initialises itself."""
    if layout.encoder is None or not layout.encoder.own:
        return {}
    from gymnast.policies.torch.encoder import own_values

    values: dict[str, np.ndarray] = {}
    for index, prefix in enumerate(layout.encoder_names):
        own = own_values(layout.config, layout.inputs, seed + 0x0C4D * index)
        values |= {f"{prefix}.{name}": value for name, value in own.items()}
    return values


def _init_memory(
    rng: np.random.Generator, name: str, shape: tuple[int, ...], config: PolicyConfig
) -> np.ndarray:
    """Each gate's block orthogonal; the gate that keeps what is remembered (an LSTM's forget gate, a GRU's
    update gate, the second in both) starts open (Jozefowicz et al., 2015)."""
    size = config.memory_size
    if len(shape) == 2:
        blocks = [orthogonal(rng, (size, shape[1]), 1.0) for _ in range(shape[0] // size)]
        return np.concatenate(blocks)
    bias = np.zeros(shape, np.float32)
    if name.endswith("bias_ih"):
        bias[size : 2 * size] = 1.0
    return bias


def _init_encoder(
    rng: np.random.Generator, layout: PolicyLayout, name: str, shape: tuple[int, ...]
) -> np.ndarray:
    assert layout.encoder is not None
    start = layout.encoder.starts[name.partition(".")[2]]
    if isinstance(start, float):  # filters are rows, whatever their shape
        return orthogonal(rng, (shape[0], prod(shape[1:])), start).reshape(shape)
    if start == "normal":
        return rng.standard_normal(shape).astype(np.float32)
    return np.full(shape, 1.0 if start == "one" else 0.0, np.float32)
