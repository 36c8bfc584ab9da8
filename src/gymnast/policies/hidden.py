"""What the hidden layers of a network give for a batch, to be looked at (`observe/network.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or torch.Tensor


@dataclass(frozen=True, slots=True)
class Hidden:
    """One layer's activations."""

    part: str  # actor, critic, trunk, encoder …
    activation: str  # relu, tanh …; the output of a memory is tanh's
    values: Array  # [B, H], or [B, C, …] of a convolution, whose units are its C channels


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch on its way through a network: its hidden layers from the input on, and the actor's outputs."""

    layers: tuple[Hidden, ...]
    outputs: np.ndarray  # [A, B]
    log_std: np.ndarray | None  # [A, 1] or [A, B]
