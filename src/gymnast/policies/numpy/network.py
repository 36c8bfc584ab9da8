"""The network in NumPy: forward and closed-form backward over one flat parameter vector.

On small MLPs the cost is the number of calls, not the arithmetic. So actor and critic run as one
stacked product where their widths agree, every intermediate has a buffer that is reused, and the
gradient is written straight into its place in the flat gradient vector. On large batches the cost
is memory traffic: they go through in blocks of rows whose intermediates stay in the cache, and the
gradients of the blocks are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.hidden import Hidden, Seen
from gymnast.policies.layout import PolicyLayout, Trunk
from gymnast.policies.numpy.trunk import NumpyTrunk, Pair, TrunkPass, ignoring_blas_flags

_BLOCK_FLOATS = 2**17  # activations of a layer in one block: half a megabyte, about a core's own cache
_BLOCK_ROWS = (256, 1024)  # fewer rows cost more in calls than they save, more save nothing


class NumpyNetwork:
    """Parameters, gradients and the two passes."""

    xp: ModuleType = np
    on_gpu = records = wants_one_torch_thread = False
    learns_as_it_acts = True

    def __init__(self, layout: PolicyLayout) -> None:
        self.layout = layout
        self.parameters = np.zeros(layout.n_parameters, np.float32)
        self.gradients = np.zeros_like(self.parameters)
        self.critic_spans = layout.critic_spans()
        self._shapes, self._spans = layout.shapes(), layout.spans()
        self.views = {
            name: self.parameters[self._spans[name]].reshape(shape) for name, shape in self._shapes.items()
        }
        self._trunks = [self._trunk(trunk) for trunk in layout.trunks]
        self._one_value = len(layout.value_heads) == 1
        self.w_action, self.g_w_action = self._pair("action_head.weight")
        self.b_action, self.g_b_action = self._pair("action_head.bias")
        self.w_value, self.g_w_value = self._pair("value_head.weight")
        self.b_value, self.g_b_value = self._pair("value_head.bias")
        self._std_from_state = layout.continuous and layout.config.state_dependent_std
        if self._std_from_state:
            self.w_std, self.g_w_std = self._pair("log_std_head.weight")
            self.b_std, self.g_b_std = self._pair("log_std_head.bias")
        elif layout.continuous:
            self.log_std, self.g_log_std = self._pair("log_std")
        if layout.n_embeddings:
            self.embedding, self.g_embedding = self._pair("embedding.weight")
        widest = max(trunk.k * width for trunk in self._trunks for width in trunk.widths)
        self._block_rows = min(max(_BLOCK_FLOATS // widest, _BLOCK_ROWS[0]), _BLOCK_ROWS[1])
        self._blocks: list[Block] = []
        self._sum = np.empty_like(self.gradients)

    def _pair(self, name: str) -> Pair:
        span, shape = self._spans[name], self._shapes[name]
        return self.parameters[span].reshape(shape), self.gradients[span].reshape(shape)

    def _trunk(self, trunk: Trunk) -> NumpyTrunk:
        """MLPs whose layers lie side by side in the flat vector, as one."""

        def stacked(part: str) -> Pair:
            names = [f"{name}.{part}" for name in trunk.names]
            span = slice(self._spans[names[0]].start, self._spans[names[-1]].stop)
            shape = (len(names), *self._shapes[names[0]])
            return self.parameters[span].reshape(shape), self.gradients[span].reshape(shape)

        config = self.layout.config
        return NumpyTrunk(len(trunk.names), trunk.widths, config.activation, config.layer_norm, stacked)

    @ignoring_blas_flags
    def act(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Outputs [A, B] and log std of the actor alone."""
        hidden = self._trunks[0].forward_first(self._embed(x))
        return self._action_outputs(hidden)

    @ignoring_blas_flags
    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Outputs [A, B], log std ([A, 1], [A, B] or None) and values ([B], or [V, B] of several heads);
        keeps what backward needs."""
        n, size = len(x), self._block_rows
        self._blocks = []
        if n <= size:
            return self._forward_block(x)
        outputs, values = np.empty((self.layout.n_outputs, n), np.float32), self.layout.empty_values(n)
        log_std = np.empty((self.layout.n_means, n), np.float32) if self._std_from_state else None
        for start in range(0, n, size):
            rows = slice(start, start + size)
            outputs[:, rows], std, values[..., rows] = self._forward_block(x[rows])
            if log_std is not None:
                log_std[:, rows] = std
        return outputs, std if log_std is None else log_std, values

    def _forward_block(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        embedded = self._embed(x)
        passes = [trunk.forward(embedded, len(self._blocks)) for trunk in self._trunks]
        block = Block(x, passes)
        self._blocks.append(block)
        outputs, log_std = self._action_outputs(block.actor_top)
        if self._one_value:
            values = block.critic_top @ self.w_value[0] + self.b_value
        else:
            values = _head(block.critic_top, self.w_value, self.b_value)
        return outputs, log_std, values

    infer = forward

    def features(self) -> np.ndarray:
        """Top activations [B, H] of the actor's trunk in the last forward pass, until its backward pass."""
        tops = [block.actor_top for block in self._blocks]
        return tops[0] if len(tops) == 1 else np.concatenate(tops)

    @ignoring_blas_flags
    def look(self, x: Any) -> Seen:
        """What all hidden layers give for a batch; until the next pass of as many rows."""
        self._blocks = []
        x = self._embed(x)
        passes = [trunk.forward(x) for trunk in self._trunks]
        activation = self.layout.config.activation
        layers = [
            Hidden(name, activation, buffers.h[index])
            for trunk, done in zip(self.layout.trunks, passes, strict=True)
            for buffers in done.layers
            for index, name in enumerate(trunk.names)
        ]
        return Seen(tuple(layers), *self._action_outputs(passes[0].top[0]))

    def updating(self, rng: np.random.Generator) -> AbstractContextManager[None]:
        """Nothing here is random."""
        return nullcontext()

    def to_engine(self, array: Any) -> np.ndarray:
        stacked: np.ndarray = array.stacked() if isinstance(array, StackedRows) else array
        return stacked

    def arrange(self, x: Any) -> Any:
        return x

    def take_from(self, other: NumpyNetwork) -> None:
        self.parameters[:] = other.parameters

    def beside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments)

    def put(self, place: np.ndarray, array: np.ndarray) -> None:
        place[...] = array

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.empty(shape, dtype)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: view.copy() for name, view in self.views.items()}

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        for name, view in self.views.items():
            view[...] = arrays[name]

    def _embed(self, x: np.ndarray) -> np.ndarray:
        return self.embedding[x] if self.layout.n_embeddings else x

    def _action_outputs(self, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        outputs = _head(hidden, self.w_action, self.b_action)
        if self._std_from_state:
            return outputs, _head(hidden, self.w_std, self.b_std)
        return outputs, self.log_std[:, None] if self.layout.continuous else None

    @ignoring_blas_flags
    def backward(
        self,
        d_outputs: np.ndarray,
        d_log_std: np.ndarray | None,
        d_values: np.ndarray,
        d_features: np.ndarray | None = None,
    ) -> None:
        """Write the gradient of all parameters into `gradients`."""
        blocks, self._blocks = self._blocks, []  # going back overwrites what the forward pass kept
        assert blocks, "backward needs a forward pass before it"
        if len(blocks) == 1:
            self._backward_block(blocks[0], d_outputs, d_log_std, d_values, d_features)
            return
        self._sum.fill(0.0)
        start = 0
        for block in blocks:
            rows = slice(start, start + len(block.x))
            d_std = None if d_log_std is None else d_log_std[:, rows]
            d_top = None if d_features is None else d_features[rows]
            self._backward_block(block, d_outputs[:, rows], d_std, d_values[..., rows], d_top)
            self._sum += self.gradients
            start = rows.stop
        self.gradients[:] = self._sum

    def _backward_block(
        self,
        block: Block,
        d_outputs: np.ndarray,
        d_log_std: np.ndarray | None,
        d_values: np.ndarray,
        d_features: np.ndarray | None,
    ) -> None:
        actor_top, critic_top = block.actor_top, block.critic_top
        np.matmul(d_outputs, actor_top, out=self.g_w_action)
        np.sum(d_outputs, 1, out=self.g_b_action)
        if self._one_value:
            np.matmul(d_values, critic_top, out=self.g_w_value[0])
            self.g_b_value[0] = d_values.sum()
            d_values = d_values[None]
        else:
            np.matmul(d_values, critic_top, out=self.g_w_value)
            np.sum(d_values, 1, out=self.g_b_value)
        derivatives, weights = [d_outputs], [self.w_action]  # of all heads that stand on the actor
        if d_log_std is not None and self._std_from_state:
            np.matmul(d_log_std, actor_top, out=self.g_w_std)
            np.sum(d_log_std, 1, out=self.g_b_std)
            derivatives.append(d_log_std)
            weights.append(self.w_std)
        elif d_log_std is not None:
            np.sum(d_log_std, 1, out=self.g_log_std)
        if self.layout.config.shared:
            derivatives.append(d_values)
            weights.append(self.w_value)
        else:
            _head_backward([d_values], [self.w_value], block.passes[-1].d_top[-1])
        d_actor_top = block.passes[0].d_top[0]
        _head_backward(derivatives, weights, d_actor_top)
        if d_features is not None:
            d_actor_top += d_features
        embedded = self.layout.n_embeddings > 0
        d_inputs = [
            trunk.backward(done, embedded) for trunk, done in zip(self._trunks, block.passes, strict=True)
        ]
        if embedded:
            self.g_embedding.fill(0.0)
            np.add.at(self.g_embedding, block.x, sum(d for d in d_inputs if d is not None))


class Block:
    """Rows that go through the network together."""

    __slots__ = ("actor_top", "critic_top", "passes", "x")

    def __init__(self, x: np.ndarray, passes: list[TrunkPass]) -> None:
        self.x = x  # [B, D], or [B] indices of an embedding
        self.passes = passes
        self.actor_top, self.critic_top = passes[0].top[0], passes[-1].top[-1]


def _head(hidden: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """[A, B]. Multiplied the other way round and then turned: BLAS is slow on a few rows times many."""
    outputs = np.ascontiguousarray((hidden @ weight.T).T)
    outputs += bias[:, None]
    return outputs


def _head_backward(derivatives: list[np.ndarray], weights: list[np.ndarray], out: np.ndarray) -> None:
    """Derivatives [A, B] of some heads, through their weights [A, H], to the layer below [B, H]."""
    d, weight = (
        (derivatives[0], weights[0]) if len(weights) == 1 else map(np.concatenate, (derivatives, weights))
    )
    if len(weight) == 1:  # an outer product, for which BLAS takes several times as long
        np.einsum("b,h->bh", d[0], weight[0], out=out)
    else:
        np.matmul(d.T, weight, out=out)
