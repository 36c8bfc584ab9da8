"""The engine's screen as the agent sees it: grey or in colours, and smaller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gymnast.envs.families.atari.resize import AreaResize
from gymnast.errors import GymnastError

Shrink = Callable[[np.ndarray], np.ndarray]

_GRAY = (0.21, 0.72, 0.07)  # the engine's own weights of red, green and blue


def to_gray(screen: np.ndarray) -> np.ndarray:
    """[h, w, 3] → [h, w], exactly as the engine's grey format gives it: in doubles, added in this order."""
    red, green, blue = (screen[..., channel] * weight for channel, weight in enumerate(_GRAY))
    gray: np.ndarray = (red + green + blue).astype(np.uint8)
    return gray


def shrinking(before: tuple[int, int], after: tuple[int, int], how: str) -> Shrink:
    """A function from screens [h, w] or [h, w, 3] of size `before` to new ones of size `after`."""
    if before == after:
        return np.ascontiguousarray
    if after[0] > before[0] or after[1] > before[1]:
        drawn, seen = (f"{height} × {width}" for height, width in (before, after))
        raise GymnastError(
            f"env.vizdoom.size: {seen} is larger than the {drawn} that env.vizdoom.resolution draws"
        )
    if how == "nearest":
        return _nearest(before, after)
    down, across = before[0] // after[0], before[1] // after[1]
    if (down * after[0], across * after[1]) == before and down * across <= 16:
        return _blocks(down, across)
    return AreaResize(before, after)


def _nearest(before: tuple[int, int], after: tuple[int, int]) -> Shrink:
    rows, columns = (((2 * np.arange(n) + 1) * o // (2 * n)) for o, n in zip(before, after, strict=True))
    places = np.ix_(rows, columns)
    return lambda screen: screen[places]


def _blocks(down: int, across: int) -> Shrink:
    """Means of whole pixels, as sums of slices: several times faster than reducing a reshaped array."""
    count = down * across
    slices = [(slice(i, None, down), slice(j, None, across)) for i in range(down) for j in range(across)]

    def shrink(screen: np.ndarray) -> np.ndarray:
        total = screen[slices[0]].astype(np.uint16)
        for piece in slices[1:]:
            total += screen[piece]
        total += count // 2  # to the nearest level
        small: np.ndarray = (total // count).astype(np.uint8)
        return small

    return shrink
