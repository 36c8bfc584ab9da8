"""What a T-maze looks like: a corridor, a sign at its beginning, a junction at its end."""

from __future__ import annotations

import numpy as np

from gymnast.drawing import ACCENT, BACKGROUND, BAD, FAINT, GOOD, PANEL, TEXT, WARM, Canvas

_TALLEST = 40.0  # pixels of a cell
WIDTH, HEIGHT = 640, 220


def draw_tmaze(
    length: int, position: int, sign_left: bool, turned: int | None, right: bool | None
) -> np.ndarray:
    """The corridor runs to the right; its left is up. `turned` is -1 or 1 once a way was taken, and `right`
    says whether it was the right one (False as well where time ran out)."""
    canvas = Canvas(WIDTH, HEIGHT)
    cell = min(_TALLEST, (WIDTH - 60) / (length + 1))
    left, middle = (WIDTH - cell * (length + 1)) / 2, HEIGHT / 2 + 10
    top = middle - cell / 2

    def corridor(x: float, y: float, width: float, height: float) -> None:
        canvas.rectangle(x, y, width, height, PANEL)

    corridor(left, top, cell * (length + 1), cell)
    junction = left + cell * length
    corridor(junction, top - cell * 1.5, cell, cell * 4)
    for step in range(1, length + 1):
        canvas.rectangle(left + cell * step, top, 1, cell, BACKGROUND)
    # The sign stays in the picture for whoever watches; the agent has seen it in the first step alone.
    tip = -1 if sign_left else 1
    x, y = left + cell / 2, middle + tip * cell * 1.1
    size = cell * 0.28
    canvas.polygon([(x - size, y - tip * size), (x + size, y - tip * size), (x, y + tip * size)], WARM)
    canvas.text("sign: left" if sign_left else "sign: right", left, 14, 24, WARM)
    canvas.text(f"{position} of {length}", WIDTH - 30, 14, 24, FAINT, "right")
    agent_x = left + cell * (position + 0.5)
    agent_y = middle + (turned or 0) * cell * 1.5
    colour = ACCENT if right is None else GOOD if right else BAD
    canvas.disc(agent_x, agent_y, cell * 0.32, colour)
    if right is not None:
        said = "correct" if right else "wrong" if turned else "out of time"
        canvas.text(said, WIDTH / 2, HEIGHT - 32, 24, colour if right else BAD, "centre")
    elif position == 0:
        canvas.text("the sign is seen here, and never again", left, HEIGHT - 32, 20, TEXT)
    return canvas.array()
