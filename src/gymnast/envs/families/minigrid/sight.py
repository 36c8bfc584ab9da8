"""What an agent sees of a grid: which cells lie in its view, and which of those nothing hides.

MiniGrid spreads visibility through its view row by row, from the agent away. What one row does is a
function of few bits (which of its cells are lit, and which can be seen through), so it is a table here:
the view of any number of agents takes one lookup per row.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gymnast.envs.families.minigrid.cells import CLEAR, OWN

LARGEST_VIEW = 9  # the tables have 4^size entries
_AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))  # (x, y) of directions 0 to 3


@lru_cache
def spreading(size: int) -> tuple[np.ndarray, np.ndarray]:
    """By `clear bits << size | lit bits` of a row: the lit bits of the next row [4^size], and which of
    its own cells are seen [4^size, size]. `Grid.process_vis`, for every row there can be."""
    keys = np.arange(4**size)
    lit = [(keys >> column & 1).astype(np.bool_) for column in range(size)]
    clear = [(keys >> (size + column) & 1).astype(np.bool_) for column in range(size)]
    beyond = [np.zeros(len(keys), np.bool_) for _ in range(size)]
    there = [(column, column + 1) for column in range(size - 1)]
    back = [(column, column - 1) for column in reversed(range(1, size))]
    for column, neighbour in (*there, *back):
        through = lit[column] & clear[column]
        lit[neighbour] |= through
        beyond[neighbour] |= through
        beyond[column] |= through
    next_lit = sum(bits.astype(np.int64) << column for column, bits in enumerate(beyond))
    return np.asarray(next_lit), np.stack(lit, axis=1)


@lru_cache
def view_steps(size: int) -> np.ndarray:
    """[direction, size, size, 2]: how far, in x and y, each cell of a view is from the agent."""
    steps = np.zeros((4, size, size, 2), np.int64)
    for direction, (dx, dy) in enumerate(_AHEAD):
        for across in range(size):
            for down in range(size):
                ahead, right = size - 1 - down, across - size // 2
                steps[direction, across, down] = (dx * ahead - dy * right, dy * ahead + dx * right)
    return steps


class Sight:
    """The views of many agents at once, on flat grids with a margin of walls around them."""

    def __init__(self, size: int, stride: int, see_through_walls: bool) -> None:
        self.cells = size * size
        self._size = size
        steps = view_steps(size).reshape(4, self.cells, 2)
        self._offsets = steps[..., 1] * stride + steps[..., 0]  # [direction, cell]
        self.ahead = np.array([dy * stride + dx for dx, dy in _AHEAD])
        self._see_through_walls = see_through_walls
        self._own_cell = size // 2 * size + size - 1
        self._lit_at_first = 1 << size // 2
        # [row of the view, cell]: sums what is clear in a row to its bits, above those that are lit.
        self._row_bits = np.zeros((size, self.cells), np.float32)
        for column in range(size):
            for row in range(size):
                self._row_bits[row, column * size + row] = 1 << (size + column)
        self._next_lit, self._seen = spreading(size)

    def codes(self, grid: np.ndarray, at: np.ndarray, facing: np.ndarray, carrying: np.ndarray) -> np.ndarray:
        """[n, size²]: what agents at `at` in the flat `grid` see; 0 where they cannot.

        Its order is that of MiniGrid's image: columns from left to right, each from far to near.
        """
        view = grid.take(self._offsets.take(facing, axis=0) + at[:, None])
        view &= OWN
        if not self._see_through_walls:
            keys = np.matmul(self._row_bits, CLEAR.take(view).T).astype(np.int64)  # [row, n]
            lit: np.ndarray | int = self._lit_at_first
            for row in reversed(keys):
                row += lit
                lit = self._next_lit.take(row)
            view *= self._seen.take(keys, axis=0).transpose(1, 2, 0).reshape(view.shape)
        view[:, self._own_cell] = carrying & OWN  # what is carried is shown where the agent stands
        return view
