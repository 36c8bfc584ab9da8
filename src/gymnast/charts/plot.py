"""The frame of a chart: title, legend, axes and grid, and the area in which the data is drawn.

Everything is drawn twice as large and then halved, which makes lines and letters smooth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.charts.axis import Axis
from gymnast.drawing import Canvas, Colour, text_width

SCALE = 2  # `array` halves
WHITE: Colour = (255, 255, 255)
INK: Colour = (40, 44, 52)
FAINT: Colour = (104, 110, 122)
GRID: Colour = (228, 231, 236)
EDGE: Colour = (160, 166, 176)
MARK: Colour = (120, 90, 40)
# Okabe and Ito's colours, which colour-blind people tell apart, without the yellow that white swallows.
PALETTE: tuple[Colour, ...] = (
    (0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (0, 0, 0),
)  # fmt: skip
TITLE_SIZE, TEXT_SIZE = 22, 18
_MARK_DASH = (6, 4)
_MOST_NAMES = 24  # in the legend


def colour_of(index: int) -> Colour:
    return PALETTE[index % len(PALETTE)]


def dash_of(index: int) -> tuple[int, int] | None:
    """(drawn, left out) pixels: once the colours are used up, lines differ by their dashes."""
    return (None, (8, 5), (2, 4))[min(index // len(PALETTE), 2)]


class Plot:
    """A picture with its axes drawn; `place` gives the pixel of a value."""

    def __init__(
        self,
        x: Axis,
        y: Axis,
        *,
        title: str,
        x_label: str,
        y_label: str,
        width: int,
        height: int,
        names: Sequence[str] = (),
        marks: Sequence[str] = (),
        y_names: Sequence[str] | None = None,
    ) -> None:
        self.width, self.height = max(160, width), max(120, height)
        self.canvas = Canvas(SCALE * self.width, SCALE * self.height, WHITE)
        self.x, self.y = x, y
        top = 8
        if title:
            self.text(title, self.width / 2, top, TITLE_SIZE, INK, "centre", self.width - 24)
            top += 22
        top = self._legend(list(names), [label for label in marks if label], top)
        if y_label:
            self.text(y_label, 10, top, TEXT_SIZE, FAINT, width=self.width - 20)
            top += 17
        self.top, self.bottom = float(top + 6), float(self.height - (44 if x_label else 26))
        ticks = [] if y_names is not None else y.ticks(max(2, int((self.bottom - self.top) / 42)))
        wide = max((text_width(t, TEXT_SIZE) for t in (y_names or [t for _, t in ticks])), default=0)
        self.left = float(min(wide, 0.45 * self.width) + 18)
        self.right = float(self.width - 22)
        self._grid(ticks, x_label)

    def _legend(self, names: list[str], marks: list[str], top: int) -> int:
        """Rows of coloured names above the data, so that they never cover it. Returns where they end."""
        entries: list[tuple[str, Colour, tuple[int, int] | None]]
        entries = [(name, colour_of(index), dash_of(index)) for index, name in enumerate(names) if name]
        more = len(entries) - _MOST_NAMES
        entries = entries[:_MOST_NAMES] + [(label, MARK, _MARK_DASH) for label in marks]
        if not entries:
            return top
        left, row = 14.0, float(top)
        most = min(300, self.width - 60)
        for name, colour, dash in entries:
            space = 26 + min(text_width(name, TEXT_SIZE), most) + 14
            if left + space > self.width - 8 and left > 14:
                left, row = 14.0, row + 17
            self.curve([(left, row + 6), (left + 20, row + 6)], colour, dash)
            self.text(name, left + 26, row, TEXT_SIZE, INK, width=most)
            left += space
        if more > 0:
            self.text(f"and {more} more", left, row, TEXT_SIZE, FAINT)
        return round(row) + 20

    def _grid(self, y_ticks: list[tuple[float, str]], x_label: str) -> None:
        taken: list[float] = []
        for value, label in sorted(y_ticks, key=lambda tick: tick[0] != 0):  # 0 before any other
            level = float(self.place_y(np.array([value]))[0])
            if any(abs(level - other) < 14 for other in taken):
                continue  # close to 0, the powers of ten of a symlog axis come close to each other
            taken.append(level)
            self._line([(self.left, level), (self.right, level)], GRID)
            self.text(label, self.left - 6, level - 6, TEXT_SIZE, FAINT, "right", int(self.left - 8))
        x_ticks = self.x.ticks(max(2, int((self.right - self.left) / 80)))
        for value, label in x_ticks:
            across = float(self.place_x(np.array([value]))[0])
            self._line([(across, self.top), (across, self.bottom)], GRID)
            self.text(label, across, self.bottom + 7, TEXT_SIZE, FAINT, "centre")
        self._line([(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)], EDGE)
        if x_label:
            self.text(
                x_label, (self.left + self.right) / 2, self.bottom + 25, TEXT_SIZE, FAINT, "centre",
                self.width - 20,
            )  # fmt: skip

    def place_x(self, values: np.ndarray) -> np.ndarray:
        return self.left + (self.right - self.left) * self.x.share(values)

    def place_y(self, values: np.ndarray) -> np.ndarray:
        return self.bottom - (self.bottom - self.top) * self.y.share(values)

    def text(
        self, text: str, x: float, y: float, size: int, colour: Colour, align: str = "left",
        width: int | None = None,
    ) -> None:  # fmt: skip
        """One line of text in the pixels of the finished picture."""
        wide = None if width is None else max(8, SCALE * width)
        plain = "".join(letter if letter.isprintable() else "?" for letter in text)[:200]
        self.canvas.text(plain, SCALE * x, SCALE * y, SCALE * size, colour, align, wide)  # type: ignore[arg-type]

    def curve(
        self,
        points: list[tuple[float, float]],
        colour: Colour,
        dash: tuple[int, int] | None = None,
        thickness: float = 1.75,
    ) -> None:
        """A smooth line through the points; a dot as thick as the line if there is only one."""
        if len(points) == 1:
            self.dot(*points[0], colour, thickness)
            return
        for part in [points] if dash is None else _dashes(points, *dash):
            scaled = [(SCALE * x, SCALE * y) for x, y in part]
            self.canvas.line(scaled, colour, round(SCALE * thickness))
            for x, y in scaled if dash is None else ():  # rounds the joints, which the segments leave open
                self.canvas.disc(x, y, SCALE * thickness / 2 - 0.25, colour)

    def dot(self, x: float, y: float, colour: Colour, radius: float = 2.5) -> None:
        self.canvas.disc(SCALE * x, SCALE * y, SCALE * radius, colour)

    def band(self, points: list[tuple[float, float]], colour: Colour) -> None:
        """A see-through area."""
        self.canvas.polygon([(SCALE * x, SCALE * y) for x, y in points], colour, 0.2)

    def rectangle(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        self.canvas.rectangle(SCALE * x, SCALE * y, SCALE * width, SCALE * height, colour)

    def mark(self, value: float) -> None:
        """A dashed horizontal line; the legend names it."""
        level = float(self.place_y(np.array([value]))[0])
        self.curve([(self.left, level), (self.right, level)], MARK, _MARK_DASH, 1.0)

    def array(self) -> np.ndarray:
        """The finished picture [height, width, 3] uint8: each pixel is the mean of four, rounded."""
        large = self.canvas.array()
        rows = large[0::2].astype(np.uint16)
        rows += large[1::2]
        total = rows[:, 0::2] + rows[:, 1::2]
        total += 2
        total >>= 2
        return total.astype(np.uint8)

    def _line(self, points: list[tuple[float, float]], colour: Colour) -> None:
        """A straight line one pixel wide, on whole pixels so that halving leaves it sharp."""
        self.canvas.line([(SCALE * round(x), SCALE * round(y)) for x, y in points], colour, SCALE)


def _dashes(points: list[tuple[float, float]], drawn: int, left_out: int) -> list[list[tuple[float, float]]]:
    """The stretches of a line that dashes draw."""
    places = np.array(points)
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))))
    starts = np.arange(0.0, along[-1], drawn + left_out)
    ends = np.minimum(starts + drawn, along[-1])
    first, last = (
        np.stack([np.interp(at, along, places[:, axis]) for axis in (0, 1)], axis=1).tolist()
        for at in (starts, ends)
    )
    inner = zip(
        np.searchsorted(along, starts, "right").tolist(),
        np.searchsorted(along, ends, "left").tolist(),
        strict=True,
    )
    return [
        [(begin[0], begin[1]), *points[after:before], (end[0], end[1])]
        for begin, end, (after, before) in zip(first, last, inner, strict=True)
    ]
