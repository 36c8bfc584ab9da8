"""The arrays that the main process and its env workers share.

The block is an open file without a name: nothing can be left behind, whoever is killed first.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.spaces.plain import action_array_type

_CACHE_LINE = 64


class SharedBlock:
    """Actions and two frames for N envs in one piece of memory, laid out alike in every process."""

    def __init__(
        self,
        fd: int,
        n_envs: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        parts: Sequence[str],
        mask_size: int = 0,
        values: Sequence[str] = (),
    ) -> None:
        def lay_out(allocate: Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]) -> Any:
            shape, dtype = action_array_type(action_space)
            frames = tuple(
                Frame(n_envs, observation_space, parts, allocate, mask_size, values) for _ in range(2)
            )
            return allocate((n_envs, *shape), dtype), frames

        size = 0

        def count(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
            nonlocal size
            size += -(-max(1, int(np.prod(shape)) * dtype.itemsize) // _CACHE_LINE) * _CACHE_LINE
            return np.empty(0)

        lay_out(count)
        if os.fstat(fd).st_size < size:
            os.ftruncate(fd, size)
        memory = mmap.mmap(fd, size)
        offset = 0

        def place(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
            nonlocal offset
            array: np.ndarray = np.ndarray(shape, dtype, buffer=memory, offset=offset)
            offset += -(-max(1, array.nbytes) // _CACHE_LINE) * _CACHE_LINE
            return array

        self.actions: np.ndarray
        self.frames: tuple[Frame, Frame]
        self.actions, self.frames = lay_out(place)


def open_unnamed_file() -> BinaryIO:
    """Memory that lives as long as someone holds it open."""
    if hasattr(os, "memfd_create"):  # Linux
        return os.fdopen(os.memfd_create("gymnast-envs"), "w+b")
    return tempfile.TemporaryFile()
