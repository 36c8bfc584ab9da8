"""A policy: preprocessing of observations, network and action distribution, on either engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from gymnast.errors import GymnastError
from gymnast.policies.distributions import Array, build_distribution
from gymnast.policies.frame_stack import FrameHistory, StackedRows
from gymnast.policies.hidden import Seen
from gymnast.policies.layout import PolicyLayout
from gymnast.policies.memory_state import MemoryState, NoState, no_state_error
from gymnast.policies.popart import PopArt
from gymnast.policies.preprocess import build_preprocessor
from gymnast.spaces.masks import MaskReader, masked
from gymnast.spaces.observation_form import ObservationForm

if TYPE_CHECKING:
    from gymnast.policies.torch.recurrent import RecurrentNetwork

_CHUNK = 2048  # rows of a forward pass without gradients: small enough to stay in the cache
_IMAGE_CHUNK = 256  # what lies between the layers of an image encoder is many times as large


class Network(Protocol):
    """What an engine provides: the two passes over one flat parameter vector."""

    xp: ModuleType  # numpy or torch
    layout: PolicyLayout
    parameters: Array  # [P] all of them in one flat vector, which an optimiser moves in place
    views: dict[str, Array]  # each of them by name, in the same memory
    gradients: Array  # [P]
    critic_spans: list[slice]  # where the critic's own lie in both
    on_gpu: bool  # whether it computes elsewhere than where NumPy's arrays are
    wants_one_torch_thread: bool  # a small network of the torch engine on a CPU is faster so
    learns_as_it_acts: bool  # whether both give the same outputs, but for the rounding of float32
    records: bool  # whether steps of learning can be recorded and replayed (`torch/graphs.py`)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """A new array of the engine's, on its device."""

    def act(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Outputs [A, N] and log std of the actor alone, as NumPy arrays."""

    def forward(self, x: Array) -> tuple[Array, Array | None, Array]:
        """Outputs [A, B], log std and values; keeps what backward needs. Of one value head values are [B],
        of several [V, B]."""

    def features(self) -> Array:
        """Top activations [B, H] of the actor's trunk in the last forward pass, until its backward pass."""

    def infer(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """As forward, as NumPy arrays and with nothing kept."""

    def look(self, x: Array) -> Seen:
        """What all hidden layers give for a batch of the engine's own, with nothing kept."""

    def backward(
        self, d_outputs: Array, d_log_std: Array | None, d_values: Array, d_features: Array | None = None
    ) -> None:
        """The gradient of the last forward pass, into the flat gradient vector."""

    def updating(self, rng: np.random.Generator) -> AbstractContextManager[None]:
        """Around an update: its own randomness follows from `rng`."""

    def to_engine(self, array: np.ndarray) -> Array:
        """A NumPy array as the engine's own."""

    def put(self, place: Array, array: np.ndarray) -> None:
        """Copy into (part of) an array of the engine's."""

    def arrange(self, x: Array) -> Array:
        """A rollout's input, the engine's own already, as minibatches of it are read fastest."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters by name; copies."""

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Take parameters by name."""

    def take_from(self, other: Any) -> None:
        """Copy the weights of another network of the same layout, engine and device."""

    def beside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work with this network in a thread of its own, while other threads use other networks."""


class Optimizer(Protocol):
    def step(self, lr: float, max_grad_norm: float, critic_lr: float | None = None) -> Any:
        """Clip, move the parameters; the gradient norm before clipping."""

    def advance(self, steps: int) -> None:
        """Count steps that were made by a recording of one."""

    def metrics(self) -> dict[str, float]:
        """Its own metrics."""

    def state(self) -> dict[str, Any]:
        """Moments and step count."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Take them back."""


class Policy:
    """Acts on raw observations."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.layout = network.layout
        self.preprocessor = build_preprocessor(network.layout)
        self.form = ObservationForm(network.layout.observation_space)
        self.frame_stack = network.layout.config.frame_stack
        self._preprocess = self.preprocessor.apply if self.frame_stack == 1 else self.preprocess
        self._chunk = _CHUNK if network.layout.encoder is None else _IMAGE_CHUNK
        self.distribution = build_distribution(network.layout)
        self.popart = PopArt(network.layout, network.parameters) if network.layout.config.popart else None
        self.recurrent = cast("RecurrentNetwork", network) if network.layout.memories else None
        self._infer = network.infer if self.recurrent is None else self.recurrent.infer_recalled

    def start(self, n: int, *, critic: bool = False) -> MemoryState:
        """The memory of n episodes that begin now: pass it to every `predict`, which advances it one step,
        and `reset` it where episodes have ended. Without a memory it is empty.
        `values` needs the critic's memory beside the actor's."""
        memory = NoState() if self.recurrent is None else self.recurrent.start(n, critic=critic)
        return memory if self.frame_stack == 1 else FrameHistory(self.form, self.frame_stack, n, memory)

    def preprocess(self, obs: np.ndarray) -> Any:
        """The network's input for observations [N, …]; with `frame_stack`, [N, k, …] of what is seen at once,
        or [N, …] that each begin an episode."""
        if self.frame_stack == 1:
            return self.preprocessor.apply(obs)
        n, k, shape = len(obs), self.frame_stack, self.form.shape
        if obs.ndim == 1 + len(shape):
            obs = np.repeat(obs[:, None], k, 1)
        frames = self.preprocessor.apply(obs.reshape(n * k, *shape))
        return self.stacked_rows(frames, np.arange(n * k).reshape(n, k)).stacked()

    def stacked_rows(self, frames: np.ndarray, index: np.ndarray) -> StackedRows:
        """Samples of k preprocessed observations each, by index [B, k]."""
        return StackedRows(frames, index, flat=self.layout.encoder is None)

    def act(
        self, obs: np.ndarray, noise: np.ndarray, masks: np.ndarray | None = None, state: Any = None
    ) -> np.ndarray:
        """Sampled actions [N, …] for observations [N, …] and noise [A, N], as masks [N, M] allow.

        With a memory: from `state`, which advances one step.
        """
        x = self._preprocess(obs)
        outputs, log_std = self.network.act(x) if state is None else self.outputs_from(x, state)
        if masks is not None:
            outputs = masked(np, outputs, masks)
        return self.distribution.sample(outputs, log_std, noise)

    def act_and_evaluate(
        self, obs: Any, noise: np.ndarray, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `act`, without a memory: actions, their log-probabilities [N] and the values in one pass."""
        x = obs if self.keeps_pixels and self.frame_stack == 1 else self._preprocess(obs)
        outputs, log_std, values = self.network.infer(x)
        if masks is not None:
            outputs = masked(np, outputs, masks)
        actions = self.distribution.sample(outputs, log_std, noise)
        known = self.distribution.evaluate_actions(np, outputs, log_std, actions)
        return actions, known.log_prob, values if self.popart is None else self.popart.real(values)

    @property
    def keeps_pixels(self) -> bool:
        """Whether observations are images alone, which the network reads on a device of its own."""
        only, *others = self.layout.inputs
        return self.network.on_gpu and only.kind == "image" and not others and not only.leaf.name

    def pixels(self, shape: tuple[int, ...]) -> Any:
        """Memory for images, on the network's device."""
        return self.network.empty(shape, self.layout.inputs[0].leaf.dtype)

    def put_pixels(self, place: Any, images: np.ndarray) -> None:
        """Copy images to a place in such memory."""
        self.network.put(place, images)

    def outputs_from(self, x: Any, state: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """The actor's outputs [A, N] and log std for network inputs; the state advances one step."""
        state = state.memory if isinstance(state, FrameHistory) else state
        return self.network.act(x) if self.recurrent is None else self.recurrent.act_from(x, state)

    def greedy(self, obs: np.ndarray, masks: np.ndarray | None = None, state: Any = None) -> np.ndarray:
        """The most likely actions [N, …]."""
        x = self._preprocess(obs)
        outputs, _ = self.network.act(x) if state is None else self.outputs_from(x, state)
        if masks is not None:
            outputs = masked(np, outputs, masks)
        return self.distribution.mode(outputs)

    def predict(
        self,
        obs: Any,
        *,
        rng: np.random.Generator | None = None,
        masks: Any = None,
        state: MemoryState | None = None,
    ) -> Any:
        """What to do on these observations: greedy, or sampled if given a generator.

        Observations are a batch [N, …]; of an env whose observations have parts, a dict or tuple of batches.
        Actions come as one batch of the env's action space: an array [N, …], or a dict or tuple of
        arrays. `masks` has one `info["action_mask"]` for each observation, or is an array [N, M].
        A policy with a memory needs a `state` from `start`.
        """
        obs = self.form.batch(obs)
        rows = None if masks is None else MaskReader(self.layout.action_space).read_batch(masks, len(obs))
        return self.distribution.structured(self.env_actions(obs, rng, rows, state))

    def env_actions(
        self,
        obs: np.ndarray,
        rng: np.random.Generator | None = None,
        masks: np.ndarray | None = None,
        state: MemoryState | None = None,
    ) -> np.ndarray:
        """What to hand to the envs of the contract: greedy, or sampled if given a generator."""
        if self.frame_stack > 1:
            if not isinstance(state, FrameHistory):
                raise GymnastError(no_state_error(len(obs)))
            obs, state = state.push(obs), state.memory
        if rng is None:
            return self.distribution.to_env(self.greedy(obs, masks, state))
        noise = self.distribution.noise(rng, 1, len(obs))[0]
        return self.distribution.to_env(self.act(obs, noise, masks, state))

    def values(self, obs: np.ndarray, state: Any = None) -> np.ndarray:
        """State values of observations [B, …]: [B], or [V, B] of several value heads. With a memory they
        are seen from `state`, which stays as it is."""
        if isinstance(state, FrameHistory):
            obs, state = state.seen_with(obs), state.memory
        x, size = self.preprocess(obs), self._chunk
        if self.recurrent is not None:
            values = self.recurrent.values_from(x, state)
        else:
            chunks = (x[i : i + size] for i in range(0, len(x), size))
            values = np.concatenate([self.network.infer(chunk)[2] for chunk in chunks], -1)
        return values if self.popart is None else self.popart.real(values)

    def evaluate_actions(
        self, x: Any, actions: np.ndarray, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of actions, and values ([B] or [V, B]) of preprocessed observations, or of what
        the memory gave for them where there is one.

        There may be more rows in `x` than actions (and masks): the rest gets values only.
        """
        log_probs = np.empty(len(actions), np.float32)
        values = self.layout.empty_values(len(x))
        for start in range(0, len(x), self._chunk):
            rows = slice(start, start + self._chunk)
            chunk = x[rows]
            if isinstance(chunk, StackedRows):
                chunk = chunk.stacked()
            outputs, log_std, values[..., rows] = self._infer(chunk)
            n = min(len(chunk), len(actions) - start)
            if n > 0:
                std = log_std[:, :n] if log_std is not None and log_std.shape[1] > 1 else log_std
                outputs = outputs[:, :n]
                if masks is not None:
                    outputs = masked(np, outputs, masks[start : start + n])
                known = self.distribution.evaluate_actions(np, outputs, std, actions[start : start + n])
                log_probs[start : start + n] = known.log_prob
        return log_probs, values if self.popart is None else self.popart.real(values)

    def arrays(self) -> dict[str, np.ndarray]:
        """Weights and statistics, as a checkpoint stores them."""
        return self.network.arrays() | {k: v.copy() for k, v in self._buffers().items()}

    def take_from(self, other: Policy) -> None:
        """Copy weights and statistics of another policy of the same layout and device."""
        self.network.take_from(other.network)
        self.preprocessor.load_buffers(other.preprocessor.buffers())
        if self.popart is not None and other.popart is not None:
            self.popart.load_buffers(other.popart.buffers())

    def _buffers(self) -> dict[str, np.ndarray]:
        return self.preprocessor.buffers() | ({} if self.popart is None else self.popart.buffers())

    def start_from(self, arrays: dict[str, np.ndarray]) -> str | None:
        """Take another run's weights and statistics, which may have more or fewer value heads: those that
        only this policy has stay as they are. A notice if there are such, else None."""
        head = ("value_head.weight", "value_head.bias")
        own, other = len(self.layout.value_heads), min(len(arrays.get(name, ())) for name in head)
        if not other or own == other:
            self.load_arrays(arrays)
            return None
        mine = self.network.arrays()
        mixed = {name: np.concatenate([arrays[name][:own], mine[name][other:]]) for name in head}
        self.load_arrays(arrays | mixed)
        if own < other:
            return f"only {own} of the {other} stored value heads are used"
        fresh = ", ".join(self.layout.value_heads[other:])
        return f"value heads that are not stored keep their new weights: {fresh}"

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Take weights and statistics; names and shapes must be those of this policy."""
        shapes = self.layout.shapes() | {name: shape for name, (shape, _) in self.layout.buffers().items()}
        shapes |= {name: value.shape for name, value in self._buffers().items()}
        other = "it was made with another policy section"
        for name in arrays:
            if name not in shapes:
                raise GymnastError(f"the checkpoint has '{name}', this policy has no such parameter: {other}")
        for name, shape in shapes.items():
            if name not in arrays:
                raise GymnastError(f"the checkpoint has no '{name}': {other}")
            if arrays[name].shape != shape:
                was = arrays[name].shape
                raise GymnastError(f"'{name}' is {was} in the checkpoint, {shape} in this policy: {other}")
        self.network.load_arrays(arrays)
        self.preprocessor.load_buffers(arrays)
        if self.popart is not None:
            self.popart.load_buffers(arrays)
