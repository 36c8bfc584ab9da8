"""Looking inside a network draws no random number that anyone else would have drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Python's, NumPy's and torch's global generators are afterwards as they were before."""
    of_python = random.getstate()
    of_numpy = np.random.get_state()  # noqa: NPY002  the global one is what is protected here
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
