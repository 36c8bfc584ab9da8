"""Stacked MLPs in NumPy: forward and closed-form backward, with buffers that are reused.

A trunk knows nothing of policies: its parameters and their gradients are views of somebody's flat vectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gymnast.policies.numpy.activations import ACTIVATIONS

# Now and then BLAS reports an "invalid value" of finite matrices: its kernels work on whole registers, with
# whatever lies in their unused lanes. NaN is found where it matters: in observations and in the update.
ignoring_blas_flags = np.errstate(invalid="ignore")

_NORM_EPS = 1e-5
_BATCH_SIZES = 4  # a run uses a few batch sizes; buffers of odd ones must not pile up

Pair = tuple[np.ndarray, np.ndarray]  # a parameter and its gradient


class NumpyTrunk:
    """K stacked MLPs of the same widths: a policy's actor and critic, or the members of a stack."""

    def __init__(
        self,
        k: int,
        widths: tuple[int, ...],
        activation: str,
        layer_norm: bool,
        parameter: Callable[[str], Pair],
    ) -> None:
        """`parameter("0.weight")` gives the first layer's weights [K, H, D] and their gradient; and so on."""
        self.k, self.widths = k, widths
        self.activation = ACTIVATIONS[activation]
        self.normed = layer_norm
        layers = range(len(widths) - 1)
        self.weights = [parameter(f"{layer}.weight") for layer in layers]
        self.biases = [parameter(f"{layer}.bias") for layer in layers]
        self.gains = [parameter(f"{layer}.norm.weight") for layer in layers] if layer_norm else []
        self.shifts = [parameter(f"{layer}.norm.bias") for layer in layers] if layer_norm else []
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

    def forward(self, x: np.ndarray, block: int = 0) -> TrunkPass:
        """Top activations [K, B, H] of inputs [B, D] or [K, B, D], and what the way back needs."""
        done = self._pass(x.shape[-2], block)
        done.x = x
        if not done.layers:  # no hidden layer: the heads stand on the input
            done.top = np.broadcast_to(x, (self.k, *x.shape[-2:]))
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
        """From the top gradients to all parameter gradients; the input's gradient if wanted."""
        layers, shared = done.layers, done.x.ndim == 2  # one input for all, or one each
        if not layers:
            return (done.d_top.sum(0) if shared else done.d_top) if want_input else None
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
                d_input = np.matmul(d, self.weights[0][0])
                return d_input.sum(0) if shared else d_input
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
        self.x = top  # [B, D] or [K, B, D]


class LayerBuffers:
    """Intermediates of one layer for one block."""

    __slots__ = ("d", "h", "inverse_std", "normed", "ones", "z")

    def __init__(self, d: np.ndarray, needs_z: bool) -> None:
        self.d = d
        self.h = np.empty_like(d)
        self.z = np.empty_like(d) if needs_z else self.h  # most derivatives need h alone
        self.ones = np.ones(d.shape[1], np.float32)
        self.inverse_std = self.normed = self.h


def _layer_norm(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centred = z - z.mean(-1, keepdims=True)
    inverse_std = 1.0 / np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(_NORM_EPS))
    centred *= inverse_std
    return inverse_std, centred
