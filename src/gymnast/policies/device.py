"""Where and how a network computes: device, precision, and the threads of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING

from gymnast.errors import GymnastError
from gymnast.policies.layout import PolicyLayout
from gymnast.processes.threads import one_blas_thread, one_torch_thread

if TYPE_CHECKING:
    from gymnast.policies.policy import Network

_WORTH_A_GPU = 1_000_000  # parameters of an MLP; below, launching its kernels takes longer than a CPU does
# Small matrix products lose more to handing work over than a second core wins back: one thread is faster up
# to roughly this many multiplications in the largest product of a minibatch, and bit-for-bit repeatable.
SMALL_MULTIPLICATIONS = 50_000_000


def choose_device(wanted: str, layout: PolicyLayout) -> str:
    """The device to compute on: the one asked for, or with `auto` the one that suits the network."""
    import torch

    if wanted == "cpu":
        return "cpu"
    if wanted == "auto":
        large = layout.encoder is not None or layout.n_parameters >= _WORTH_A_GPU
        return "cuda" if large and torch.cuda.is_available() else "cpu"
    if not torch.cuda.is_available():
        built = "this torch is a CPU build" if torch.version.cuda is None else "no CUDA GPU is visible"
        raise GymnastError(f"device: {wanted} cannot be used, {built}; use device=auto or device=cpu")
    index = wanted.partition(":")[2]
    if index and int(index) >= torch.cuda.device_count():
        there = ", ".join(f"cuda:{i}" for i in range(torch.cuda.device_count()))
        raise GymnastError(f"device: {wanted} does not exist; available are cpu, {there}")
    return wanted


def has_gpu(wanted: str) -> bool:
    """Whether there is one to compute on, and the setting `device` does not forbid it."""
    if wanted == "cpu" or find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def check_precision(precision: str, layout: PolicyLayout) -> None:
    """Only convolutions gain from bfloat16, which halves their work."""
    if precision != "f32" and not any(part.kind == "image" for part in layout.inputs):
        raise GymnastError(
            f"precision: {precision} is for networks that read images, and this one reads none; use f32"
        )


@contextmanager
def limit_threads(network: Network, batch_size: int) -> Iterator[None]:
    """One thread for small networks, all of them for large ones."""
    trunks = network.layout.trunks
    largest = max((a * b for trunk in trunks for a, b in pairwise(trunk.widths)), default=0)
    with (
        one_blas_thread() if batch_size * largest <= SMALL_MULTIPLICATIONS else nullcontext(),
        one_torch_thread() if network.wants_one_torch_thread else nullcontext(),
    ):
        yield
