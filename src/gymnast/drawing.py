"""Drawing pictures: text and plain shapes on an RGB array.

pygame does the work: it comes with Gymnasium's classic control, brings a font along, and draws
without a display.
"""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # its greeting is none of what a command prints

Colour = tuple[int, int, int]

BACKGROUND: Colour = (22, 24, 30)
PANEL: Colour = (36, 39, 48)
LINES: Colour = (74, 79, 92)
TEXT: Colour = (236, 238, 243)
FAINT: Colour = (150, 156, 170)
ACCENT: Colour = (88, 166, 255)
GOOD: Colour = (86, 196, 120)
BAD: Colour = (238, 104, 94)
WARM: Colour = (240, 184, 84)


_fonts: dict[int, Any] = {}


def _font(size: int) -> Any:
    """A font that works. Envs call pygame.quit when they are closed, which leaves every font useless."""
    import pygame

    try:
        _fonts[size].size("")
    except (KeyError, pygame.error):
        pygame.font.init()
        _fonts[size] = pygame.font.Font(None, size)
    return _fonts[size]


def text_width(text: str, size: int) -> int:
    """How many pixels wide a text is."""
    return int(_font(size).size(text)[0])


def shortened(text: str, size: int, width: int) -> str:
    """The text, cut off with … where it is wider than `width` pixels."""
    if text_width(text, size) <= width:
        return text
    fits = 0
    for length in range(len(text)):
        if text_width(text[:length] + "…", size) > width:
            break
        fits = length
    return text[:fits].rstrip() + "…"


class Canvas:
    """A picture that is being drawn. Places are (x, y) from the top left, in pixels."""

    def __init__(self, width: int, height: int, colour: Colour = BACKGROUND) -> None:
        import pygame

        self.width, self.height = width, height
        self._pygame = pygame
        self._surface = pygame.Surface((width, height))
        self._surface.fill(colour)

    def text(
        self,
        text: str,
        x: float,
        y: float,
        size: int = 20,
        colour: Colour = TEXT,
        align: Literal["left", "centre", "right"] = "left",
        width: int | None = None,
    ) -> None:
        """One line of text whose top is at y; cut off if wider than `width`."""
        if width is not None:
            text = shortened(text, size, width)
        if not text:
            return
        drawn = _font(size).render(text, True, colour)
        x -= {"left": 0.0, "centre": drawn.get_width() / 2, "right": drawn.get_width()}[align]
        self._surface.blit(drawn, (round(x), round(y)))

    def rectangle(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        self._surface.fill(colour, (round(x), round(y), max(0, round(width)), max(0, round(height))))

    def frame(self, x: float, y: float, width: float, height: float, colour: Colour, line: int = 1) -> None:
        """The outline of a rectangle."""
        box = (round(x), round(y), max(1, round(width)), max(1, round(height)))
        self._pygame.draw.rect(self._surface, colour, box, line)

    def line(self, points: list[tuple[float, float]], colour: Colour, width: int = 1) -> None:
        """Through all the points."""
        if len(points) > 1:
            self._pygame.draw.lines(self._surface, colour, False, points, width)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self._pygame.draw.circle(self._surface, colour, (x, y), radius)

    def polygon(self, points: list[tuple[float, float]], colour: Colour, opacity: float = 1.0) -> None:
        """Filled; what is below shows through where `opacity` is less than 1."""
        if opacity >= 1.0:
            self._pygame.draw.polygon(self._surface, colour, points)
            return
        layer = self._pygame.Surface((self.width, self.height), self._pygame.SRCALPHA)
        self._pygame.draw.polygon(layer, (*colour, round(255 * opacity)), points)
        self._surface.blit(layer, (0, 0))

    def array(self) -> np.ndarray:
        """The picture as it is now, [height, width, 3] uint8; not to be written to."""
        pixels = self._pygame.image.tobytes(self._surface, "RGB")
        return np.frombuffer(pixels, np.uint8).reshape(self.height, self.width, 3)
