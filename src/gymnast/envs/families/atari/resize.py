"""Making a screen smaller as ale-py's vectorised games do it, to the bit.

They use OpenCV's area interpolation: a new pixel is the mean over the area that it covers, in float32,
along rows first. An agent that was trained there must see the same pictures when it plays a single game,
so the same sums are formed here in the same order. OpenCV itself is not needed.
"""

from __future__ import annotations

import numpy as np

_NEGLIGIBLE = 1e-3  # OpenCV leaves out what a pixel covers less of than this


class AreaResize:
    """From screens [h, w] or [h, w, 3] of uint8 to smaller ones."""

    def __init__(self, before: tuple[int, int], after: tuple[int, int]) -> None:
        self.after = after
        self._same = before == after
        self._block = (before[0] // after[0], before[1] // after[1])
        self._whole = before[0] % after[0] == 0 and before[1] % after[1] == 0
        self._rows, self._columns = _taps(before[0], after[0]), _taps(before[1], after[1])

    def __call__(self, screen: np.ndarray) -> np.ndarray:
        if self._same:
            return screen.copy()
        if self._whole:
            return self._mean_of_blocks(screen)
        depth = (1,) * (screen.ndim - 2)
        narrow = _sum([screen[:, at] * weights.reshape(-1, *depth) for at, weights in self._columns])
        small = _sum([narrow[at] * weights.reshape(-1, 1, *depth) for at, weights in self._rows])
        return np.rint(small).astype(np.uint8)

    def _mean_of_blocks(self, screen: np.ndarray) -> np.ndarray:
        """Whole pixels alone, whose sum is an integer: OpenCV has a way of its own to divide it."""
        height, width = self._block
        blocks = screen.reshape(self.after[0], height, self.after[1], width, *screen.shape[2:])
        sums = blocks.sum((1, 3), dtype=np.int32)
        if (height, width) == (2, 2):
            return ((sums + 2) >> 2).astype(np.uint8)
        return np.rint(sums.astype(np.float32) * np.float32(1.0 / (height * width))).astype(np.uint8)


def _sum(terms: list[np.ndarray]) -> np.ndarray:
    """From the first on: in float32 the order counts."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _taps(before: int, after: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each new pixel takes, of one axis: the k-th old pixel of each, and its weight (0: no further)."""
    scale = before / after
    taken: list[list[tuple[int, float]]] = []
    for index in range(after):
        start, end = index * scale, (index + 1) * scale
        covered = min(scale, before - start)
        first = int(np.ceil(start))
        last = min(int(np.floor(end)), before - 1)
        first = min(first, last)
        taps = []
        if first - start > _NEGLIGIBLE:
            taps.append((first - 1, (first - start) / covered))
        taps += [(place, 1.0 / covered) for place in range(first, last)]
        if end - last > _NEGLIGIBLE:
            taps.append((last, min(end - last, 1.0, covered) / covered))
        taken.append(taps)
    most = max(len(taps) for taps in taken)
    filled = [taps + [(taps[-1][0], 0.0)] * (most - len(taps)) for taps in taken]
    return [
        (
            np.array([taps[k][0] for taps in filled]),
            np.array([taps[k][1] for taps in filled], np.float32),
        )
        for k in range(most)
    ]
