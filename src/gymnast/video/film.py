"""A film of one player: its episodes, frame by frame, into a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gymnast.video.mp4 import Encoder
from gymnast.video.overlay import Layout
from gymnast.video.play import Shot

HOLD_SECONDS = 0.8  # an episode's last picture stands still for this long


@dataclass(slots=True)
class Played:
    """What the episodes of a film came to, in their order."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    cut: bool = False  # whether one was broken off

    def note(self, shot: Shot) -> None:
        """Take in the last shot of an episode."""
        self.returns.append(shot.total)
        self.lengths.append(shot.step)
        self.cut |= shot.ending == "cut here"


@dataclass(frozen=True, slots=True)
class Film:
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


def make_film(path: Path, shots: Iterable[Shot], fps: float, episodes: int) -> Film:
    """Encode the shots as they come; none is kept."""
    played = Played()
    hold = held_frames(HOLD_SECONDS, fps)
    shots = iter(shots)
    first = next(shots)
    layout = Layout(first.picture, episodes=episodes)
    with Encoder(path, layout.width, layout.height, fps) as encoder:
        encoder.write(layout.compose(first))
        for shot in shots:
            ended = shot.ending is not None
            encoder.write(layout.compose(shot), times=1 + hold if ended else 1)
            if ended:
                played.note(shot)
    return Film(path, encoder.width, encoder.height, fps, encoder.frames, played)


def held_frames(seconds: float, fps: float) -> int:
    """How many frames a picture stands still for."""
    return max(1, round(seconds * fps))
