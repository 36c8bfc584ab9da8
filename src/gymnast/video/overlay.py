"""A frame of a video: the picture, enlarged by whole numbers, and a bar of text below it."""

from __future__ import annotations

import numpy as np

from gymnast.drawing import BACKGROUND, FAINT, TEXT, Canvas
from gymnast.traces.step import TraceStep

LONGEST_SIDE = 640  # small pictures are enlarged up to this
LEAST_WIDTH = 420  # what the bar needs
BAR = 84
_MARGIN = 14


class Layout:
    """Where things are in frames of one video. The first picture decides on the size."""

    def __init__(self, picture: np.ndarray, *, episodes: int = 1, panel: int = 0) -> None:
        height, width = picture.shape[:2]
        self.factor = max(1, LONGEST_SIDE // max(height, width))
        self.episodes = episodes
        self.area = (height * self.factor, max(width * self.factor, LEAST_WIDTH))  # of the picture
        self.height, self.width = self.area[0] + BAR, self.area[1] + panel
        self._panel = panel

    def compose(self, step: TraceStep, panel: np.ndarray | None = None) -> np.ndarray:
        """The whole frame [height, width, 3]; `panel` goes to the right of the picture."""
        assert step.picture is not None
        return self.assemble(self.enlarged(step.picture), self.bar(step), panel)

    def assemble(
        self, picture: np.ndarray, bar: np.ndarray | None, panel: np.ndarray | None = None
    ) -> np.ndarray:
        """A frame of ready parts; a bar that is None is left empty."""
        frame = np.empty((self.height, self.width, 3), np.uint8)
        frame[...] = BACKGROUND
        paste(frame[: self.area[0], : self.area[1]], picture)
        if bar is not None:
            frame[self.area[0] :, : self.area[1]] = bar
        if panel is not None:
            frame[:, self.area[1] :] = panel
        return frame

    def enlarged(self, picture: np.ndarray) -> np.ndarray:
        """Every pixel as a square of pixels: the game stays as sharp as it is."""
        if self.factor == 1:
            return picture
        return picture.repeat(self.factor, axis=0).repeat(self.factor, axis=1)

    def bar(self, step: TraceStep) -> np.ndarray:
        """Step, reward, return and value in columns of their own, and the action below."""
        canvas = Canvas(self.area[1], BAR)
        outcome, ending = step.outcome, _ending(step)
        over = outcome is not None and outcome.done
        columns = {
            "step": f"{step.step:,}",
            "reward": _number(None if outcome is None else outcome.reward),
            "return": _number(step.total),
            "value": _number(None if over else step.value),
        }
        if self.episodes > 1:
            columns = {"episode": f"{step.episode + 1} of {self.episodes}", **columns}
        pitch = (self.area[1] - 2 * _MARGIN) / len(columns)
        for index, (name, value) in enumerate(columns.items()):
            x = _MARGIN + index * pitch
            canvas.text(name, x, 8, 18, FAINT)
            canvas.text(value, x, 24, 26, width=round(pitch - 6))
        canvas.text("action", _MARGIN, 58, 18, FAINT)
        if ending is not None:
            canvas.text(ending, self.area[1] - _MARGIN, 56, 22, FAINT, "right")
        room = self.area[1] - 2 * _MARGIN - 56 - (110 if ending is not None else 0)
        action = "" if outcome is None else outcome.label or "–"
        canvas.text(action, _MARGIN + 56, 56, 22, TEXT, width=room)
        return canvas.array()


def _ending(step: TraceStep) -> str | None:
    """Why this is an episode's last frame, if it is."""
    if step.cut:
        return "cut here"
    if step.outcome is None or not step.outcome.done:
        return None
    return "end" if step.outcome.terminated else "time is up"


def paste(area: np.ndarray, picture: np.ndarray) -> None:
    """Put a picture into the middle of an area; what does not fit is cut off on both sides."""
    height, width = (min(a, b) for a, b in zip(area.shape[:2], picture.shape[:2], strict=True))
    top, left = ((a - s) // 2 for a, s in zip(area.shape[:2], (height, width), strict=True))
    up, over = ((p - s) // 2 for p, s in zip(picture.shape[:2], (height, width), strict=True))
    area[top : top + height, left : left + width] = picture[up : up + height, over : over + width]


def _number(value: float | None) -> str:
    """In as many places as can be read in passing."""
    if value is None:
        return "–"
    size = abs(value)
    return f"{value:,.0f}" if size >= 10_000 else f"{value:.1f}" if size >= 100 else f"{value:.2f}"
