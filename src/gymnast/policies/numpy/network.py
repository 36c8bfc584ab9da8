"""The network in NumPy: forward and closed-form backward over one flat parameter vector.

On small MLPs the cost is the number of calls, not the arithmetic. So actor and critic run as one
stacked product where their widths agree, every intermediate has a buffer that is reused, and the
gradient is written straight into its place in the flat gradient vector. On large batches the cost
is memory traffic: they go through in blocks of rows whose intermediates stay in the cache, and the
gradients of the blocks are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.layout import PolicyLayout, Trunk
from gymnast.policies.numpy.activations import ACTIVATIONS

_NORM_EPS = 1e-5
_BATCH_SIZES = 4  # a run uses a few batch sizes; buffers of odd ones must not pile up
_BLOCK_FLOATS = 2**17  # activations of a layer in one block: half a megabyte, about a core's own cache
_BLOCK_ROWS = (256, 1024)  # fewer rows cost more in calls than they save, more save nothing

Pair = tuple[np.ndarray, np.ndarray]  # a parameter and its gradient


class NumpyNetwork:
    """Parameters, gradients and the two passes."""

    xp: ModuleType = np
    on_gpu = records = False

    def __init__(self, layout: PolicyLayout) -> None:
        self.layout = layout
        self.parameters = np.zeros(layout.n_parameters, np.float32)
        self.gradients = np.zeros_like(self.parameters)
        self.views: dict[str, np.ndarray] = {}
        self._places: dict[str, tuple[int, tuple[int, ...]]] = {}
        offset = 0
        for name, shape in layout.shapes().items():
            self._places[name] = (offset, shape)
            self.views[name] = self.parameters[offset : offset + prod(shape)].reshape(shape)
            offset += prod(shape)
        self._stacks = [NumpyTrunk(self, trunk) for trunk in layout.trunks]
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
        widest = max(trunk.k * width for trunk in self._stacks for width in trunk.widths)
        self._block_rows = min(max(_BLOCK_FLOATS // widest, _BLOCK_ROWS[0]), _BLOCK_ROWS[1])
        self._blocks: list[Block] = []
        self._sum = np.empty_like(self.gradients)

    def _pair(self, name: str) -> Pair:
        return self.stacked((name,))

    def stacked(self, names: tuple[str, ...]) -> Pair:
        """Views of parameters and gradients that lie side by side, with a leading axis if several."""
        offset, shape = self._places[names[0]]
        size = prod(shape)
        full = (len(names), *shape) if len(names) > 1 else shape
        span = slice(offset, offset + size * len(names))
        return self.parameters[span].reshape(full), self.gradients[span].reshape(full)

    def act(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Outputs [A, B] and log std of the actor alone."""
        hidden = self._stacks[0].forward_first(self._embed(x))
        return self._action_outputs(hidden)

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Outputs [A, B], log std ([A, 1], [A, B] or None) and values [B]; keeps what backward needs."""
        n, size = len(x), self._block_rows
        self._blocks = []
        if n <= size:
            return self._forward_block(x)
        outputs, values = np.empty((self.layout.n_outputs, n), np.float32), np.empty(n, np.float32)
        log_std = np.empty((self.layout.n_means, n), np.float32) if self._std_from_state else None
        for start in range(0, n, size):
            rows = slice(start, start + size)
            outputs[:, rows], std, values[rows] = self._forward_block(x[rows])
            if log_std is not None:
                log_std[:, rows] = std
        return outputs, std if log_std is None else log_std, values

    def _forward_block(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        embedded = self._embed(x)
        passes = [stack.forward(embedded, len(self._blocks)) for stack in self._stacks]
        block = Block(x, passes)
        self._blocks.append(block)
        outputs, log_std = self._action_outputs(block.actor_top)
        values = block.critic_top @ self.w_value[0] + self.b_value
        return outputs, log_std, values

    infer = forward

    def begin_update(self, rng: np.random.Generator) -> None:
        """Nothing here is random."""

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

    def backward(self, d_outputs: np.ndarray, d_log_std: np.ndarray | None, d_values: np.ndarray) -> None:
        """Write the gradient of all parameters into `gradients`."""
        if len(self._blocks) == 1:
            self._backward_block(self._blocks[0], d_outputs, d_log_std, d_values)
            return
        self._sum.fill(0.0)
        start = 0
        for block in self._blocks:
            rows = slice(start, start + len(block.x))
            d_std = None if d_log_std is None else d_log_std[:, rows]
            self._backward_block(block, d_outputs[:, rows], d_std, d_values[rows])
            self._sum += self.gradients
            start = rows.stop
        self.gradients[:] = self._sum

    def _backward_block(
        self, block: Block, d_outputs: np.ndarray, d_log_std: np.ndarray | None, d_values: np.ndarray
    ) -> None:
        actor_top, critic_top = block.actor_top, block.critic_top
        np.matmul(d_outputs, actor_top, out=self.g_w_action)
        np.sum(d_outputs, 1, out=self.g_b_action)
        np.matmul(d_values, critic_top, out=self.g_w_value[0])
        self.g_b_value[0] = d_values.sum()
        derivatives, weights = [d_outputs], [self.w_action]  # of all heads that stand on the actor
        if d_log_std is not None and self._std_from_state:
            np.matmul(d_log_std, actor_top, out=self.g_w_std)
            np.sum(d_log_std, 1, out=self.g_b_std)
            derivatives.append(d_log_std)
            weights.append(self.w_std)
        elif d_log_std is not None:
            np.sum(d_log_std, 1, out=self.g_log_std)
        if self.layout.config.shared:
            derivatives.append(d_values[None])
            weights.append(self.w_value)
        else:
            _head_backward([d_values[None]], [self.w_value], block.passes[-1].d_top[-1])
        _head_backward(derivatives, weights, block.passes[0].d_top[0])
        embedded = self.layout.n_embeddings > 0
        d_inputs = [
            stack.backward(done, embedded) for stack, done in zip(self._stacks, block.passes, strict=True)
        ]
        if embedded:
            self.g_embedding.fill(0.0)
            np.add.at(self.g_embedding, block.x, sum(d for d in d_inputs if d is not None))


class NumpyTrunk:
    """One or two stacked MLPs; K is their number."""

    def __init__(self, network: NumpyNetwork, trunk: Trunk) -> None:
        self.k = len(trunk.names)
        self.widths = trunk.widths
        self.activation = ACTIVATIONS[network.layout.config.activation]
        self.normed = network.layout.config.layer_norm
        self.weights: list[Pair] = []
        self.biases: list[Pair] = []
        self.gains: list[Pair] = []
        self.shifts: list[Pair] = []
        for layer in range(len(trunk.widths) - 1):
            for part, into in (
                ("weight", self.weights),
                ("bias", self.biases),
                ("norm.weight", self.gains),
                ("norm.bias", self.shifts),
            ):
                if part.startswith("norm") and not self.normed:
                    continue
                value, gradient = network.stacked(tuple(f"{name}.{layer}.{part}" for name in trunk.names))
                if self.k == 1:
                    value, gradient = value[None], gradient[None]
                into.append((value, gradient))
        # The actor's weights alone, already transposed, for acting.
        self._first = [(w[0][0].T, b[0][0]) for w, b in zip(self.weights, self.biases, strict=True)]
        self._passes: dict[tuple[int, int], TrunkPass] = {}
        self._d: dict[int, list[np.ndarray]] = {}
        self._acting: dict[int, list[np.ndarray]] = {}

    def forward_first(self, x: np.ndarray) -> np.ndarray:
        """The first MLP of the stack alone: top activations [B, H]."""
        buffers = self._acting.get(len(x))
        if buffers is None:
            if len(self._acting) >= _BATCH_SIZES:
                self._acting.clear()
            buffers = self._acting[len(x)] = [np.empty((len(x), w), np.float32) for w in self.widths[1:]]
        for layer, ((weight, bias), out) in enumerate(zip(self._first, buffers, strict=True)):
            np.matmul(x, weight, out=out)
            out += bias
            if self.normed:
                _, normed = _layer_norm(out)
                np.multiply(normed, self.gains[layer][0][0], out=out)
                out += self.shifts[layer][0][0]
            self.activation.apply(out, out)
            x = out
        return x

    def forward(self, x: np.ndarray, block: int) -> TrunkPass:
        """Top activations [K, B, H], and what the way back needs."""
        done = self._pass(len(x), block)
        done.x = x
        if not done.layers:  # no hidden layer: the heads stand on the input
            done.top = np.broadcast_to(x, (self.k, *x.shape))
            return done
        h = x
        for layer, buffers in enumerate(done.layers):
            z = buffers.z
            np.matmul(h, self.weights[layer][0].transpose(0, 2, 1), out=z)
            z += self.biases[layer][0][:, None, :]
            if self.normed:
                buffers.inverse_std, buffers.normed = _layer_norm(z)
                np.multiply(buffers.normed, self.gains[layer][0][:, None, :], out=z)
                z += self.shifts[layer][0][:, None, :]
            self.activation.apply(z, buffers.h)
            h = buffers.h
        return done

    def backward(self, done: TrunkPass, want_input: bool) -> np.ndarray | None:
        """From the top gradients to all parameter gradients; the input's gradient [B, D] if wanted."""
        layers = done.layers
        if not layers:
            return done.d_top.sum(0) if want_input else None
        for layer in reversed(range(len(layers))):
            buffers = layers[layer]
            d = buffers.d
            self.activation.chain(d, buffers.z, buffers.h)
            if self.normed:
                self._norm_backward(layer, buffers, d)
            below = layers[layer - 1].h if layer else done.x
            np.matmul(d.transpose(0, 2, 1), below, out=self.weights[layer][1])
            np.matmul(buffers.ones, d, out=self.biases[layer][1])  # a product sums 5 × faster than np.sum
            if layer:
                np.matmul(d, self.weights[layer][0], out=layers[layer - 1].d)
            elif want_input:
                return np.matmul(d, self.weights[0][0]).sum(0)
        return None

    def _norm_backward(self, layer: int, buffers: LayerBuffers, d: np.ndarray) -> None:
        gain, g_gain = self.gains[layer]
        np.matmul(buffers.ones, d, out=self.shifts[layer][1])
        np.matmul(buffers.ones, d * buffers.normed, out=g_gain)
        d *= gain[:, None, :]
        d -= d.mean(-1, keepdims=True) + buffers.normed * (d * buffers.normed).mean(-1, keepdims=True)
        d *= buffers.inverse_std

    def _pass(self, rows: int, block: int) -> TrunkPass:
        done = self._passes.get((rows, block))
        if done is None:
            if rows not in self._d:
                self._forget_odd_sizes()
                # Blocks go back one after the other: one gradient does for all of them.
                widths = self.widths[1:] or self.widths
                self._d[rows] = [np.zeros((self.k, rows, width), np.float32) for width in widths]
            d = self._d[rows]
            layers = [LayerBuffers(each, self.activation.needs_z) for each in d] if self.weights else []
            done = TrunkPass(layers, layers[-1].h if layers else d[-1], d[-1])
            self._passes[rows, block] = done
        return done

    def _forget_odd_sizes(self) -> None:
        if len(self._d) >= _BATCH_SIZES:
            largest = max(self._d)  # of which there may be many blocks, made again at some cost
            self._d = {largest: self._d[largest]}
            self._passes = {key: value for key, value in self._passes.items() if key[0] == largest}


class TrunkPass:
    """One block's way through a trunk; kept for the next batch of that size."""

    __slots__ = ("d_top", "layers", "top", "x")

    def __init__(self, layers: list[LayerBuffers], top: np.ndarray, d_top: np.ndarray) -> None:
        self.layers = layers
        self.top = top  # [K, B, H]
        self.d_top = d_top  # [K, B, H]: where the heads' gradients go
        self.x = top  # [B, D]


class Block:
    """Rows that go through the network together."""

    __slots__ = ("actor_top", "critic_top", "passes", "x")

    def __init__(self, x: np.ndarray, passes: list[TrunkPass]) -> None:
        self.x = x  # [B, D], or [B] indices of an embedding
        self.passes = passes
        self.actor_top, self.critic_top = passes[0].top[0], passes[-1].top[-1]


class LayerBuffers:
    """Intermediates of one layer for one block."""

    __slots__ = ("d", "h", "inverse_std", "normed", "ones", "z")

    def __init__(self, d: np.ndarray, needs_z: bool) -> None:
        self.d = d
        self.h = np.empty_like(d)
        self.z = np.empty_like(d) if needs_z else self.h  # most derivatives need h alone
        self.ones = np.ones(d.shape[1], np.float32)
        self.inverse_std = self.normed = self.h


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


def _layer_norm(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centred = z - z.mean(-1, keepdims=True)
    inverse_std = 1.0 / np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(_NORM_EPS))
    centred *= inverse_std
    return inverse_std, centred
