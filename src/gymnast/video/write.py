"""Writing a video: recorded steps, frame by frame, into a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from gymnast.errors import GymnastError
from gymnast.traces.step import TraceStep
from gymnast.video.mp4 import Encoder
from gymnast.video.overlay import Layout

HOLD_SECONDS = 0.8  # an episode's last picture is held for this long


@dataclass(slots=True)
class Played:
    """The results of a video's episodes, in their order."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    cut: bool = False  # whether one was cut by the step limit

    def add(self, step: TraceStep) -> None:
        """Take in the last step of an episode."""
        self.returns.append(step.total)
        self.lengths.append(step.step)
        self.cut |= step.cut


@dataclass(frozen=True, slots=True)
class RecordedVideo:
    """A finished file."""

    path: Path
    width: int
    height: int
    fps: float
    frames: int
    played: Played

    @property
    def seconds(self) -> float:
        return self.frames / self.fps


def write_video(path: Path, steps: Iterable[TraceStep], fps: float, episodes: int) -> RecordedVideo:
    """Encode the steps as they come; none is kept. They may be played now, or come from a `Trace`."""
    steps, played = iter(steps), Played()
    first = next(steps, None)
    if first is None or first.picture is None:
        raise GymnastError("a trace without frames cannot become a video: record it with frames=True")
    layout = Layout(first.picture, episodes=episodes)
    with Encoder(path, layout.width, layout.height, fps) as encoder:
        encode_steps(encoder, layout, chain([first], steps), fps, played)
    return RecordedVideo(path, encoder.width, encoder.height, fps, encoder.frames, played)


def encode_steps(
    encoder: Encoder,
    layout: Layout,
    steps: Iterable[TraceStep],
    fps: float,
    played: Played,
    panel: np.ndarray | None = None,
) -> None:
    """A frame for each step; the last one of an episode is held."""
    for step in steps:
        ended = step.decision is None
        times = 1 + held_frames(HOLD_SECONDS, fps) if ended else 1
        encoder.write(layout.compose(step, panel), times=times)
        if ended:
            played.add(step)


def held_frames(seconds: float, fps: float) -> int:
    """How many frames a picture is held for."""
    return max(1, round(seconds * fps))
