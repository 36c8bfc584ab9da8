"""The picture of an env that does not draw itself: what the agent sees, as an image or as bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gymnast.drawing import ACCENT, FAINT, LINES, PANEL, WARM, Canvas

WIDTH, ROW, COLUMNS_FROM, MOST = 640, 22, 16, 32  # one column up to 16 components, and 32 at most
_HEAD = 44


class ObservationPicture:
    """Draws observations, bars on a scale that only ever grows, so that they can be followed by eye."""

    def __init__(self, title: str, names: tuple[str, ...] = ()) -> None:
        self._title, self._names = title, names
        self._largest: dict[str, float] = {}

    def draw(self, observation: Any) -> np.ndarray:
        """[height, width, 3] uint8, always of one size for one kind of observation."""
        parts = list(_leaves(observation, ""))
        for _, value in parts:
            if (image := as_image(value)) is not None:
                return image
        named = [pair for part in parts for pair in self._components(*part)]
        shown = named[:MOST]
        columns = 1 if len(shown) <= COLUMNS_FROM else 2
        rows = -(-len(shown) // columns)
        canvas = Canvas(WIDTH, _HEAD + max(rows, 4) * ROW + 16)
        canvas.text(self._title, 16, 12, 24)
        if len(named) > len(shown):
            canvas.text(f"{len(shown)} of {len(named)} components", WIDTH - 16, 14, 20, FAINT, "right")
        for index, (name, number) in enumerate(shown):
            column, row = divmod(index, rows)
            self._bar(canvas, name, number, 16 + column * WIDTH / columns, _HEAD + row * ROW, WIDTH / columns)
        return canvas.array()

    def _components(self, name: str, value: np.ndarray) -> Iterator[tuple[str, float]]:
        flat = np.ravel(value)
        if not name and len(self._names) == len(flat):
            yield from zip(self._names, flat.tolist(), strict=True)
            return
        for index, number in enumerate(flat.tolist()):
            yield (f"{name}[{index}]" if len(flat) > 1 else name or "observation"), float(number)

    def _bar(self, canvas: Canvas, name: str, value: float, x: float, y: float, width: float) -> None:
        label, number, gap = width * 0.34, 80.0, 16.0
        left, wide = x + label, width - label - number - 2 * gap
        largest = max(self._largest.get(name, 1e-9), abs(value) if np.isfinite(value) else 0.0)
        self._largest[name] = largest
        middle = left + wide / 2
        canvas.text(name, x, y + 2, 20, FAINT, width=round(label - 8))
        canvas.rectangle(left, y + 2, wide, ROW - 6, PANEL)
        length = wide / 2 * (value / largest if np.isfinite(value) else 0.0)
        start, colour = (middle, ACCENT) if length >= 0 else (middle + length, WARM)
        canvas.rectangle(start, y + 2, abs(length), ROW - 6, colour)
        canvas.rectangle(middle, y, 1, ROW - 2, LINES)
        canvas.text(f"{value:.3g}", left + wide + number, y + 2, 20, align="right")


def as_image(value: np.ndarray) -> np.ndarray | None:
    """Pixels as RGB, the newest of several frames; None if these are not pixels."""
    value = np.asarray(value)
    if value.dtype != np.uint8 or value.ndim not in (2, 3) or min(value.shape[-2:]) < 1:
        return None
    if value.ndim == 2:
        return _gray(value) if min(value.shape) >= 8 else None
    if value.shape[-1] in (1, 3) and min(value.shape[:2]) >= 8:
        return value if value.shape[-1] == 3 else _gray(value[..., 0])
    if min(value.shape[1:]) >= 8:  # [stack or channels, height, width]
        return np.moveaxis(value, 0, -1) if value.shape[0] == 3 else _gray(value[-1])
    return None


def _gray(image: np.ndarray) -> np.ndarray:
    return np.repeat(image[..., None], 3, axis=2)


def _leaves(observation: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of an observation with the way to it."""
    if isinstance(observation, Mapping):
        for key, part in observation.items():
            yield from _leaves(part, f"{name}/{key}" if name else str(key))
    elif isinstance(observation, tuple):
        for index, part in enumerate(observation):
            yield from _leaves(part, f"{name}/{index}" if name else str(index))
    else:
        yield name, np.asarray(observation)
