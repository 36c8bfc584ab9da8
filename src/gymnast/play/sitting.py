"""From the first step to the recording that is complete: what is opened, played and closed in one thread.

Some games draw with contexts that belong to a thread, so whoever plays also begins and ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gymnast.play.controls import Controls
from gymnast.play.episode import PlayedEpisode
from gymnast.play.game import Driver, Game
from gymnast.play.loop import GameLoop, Limits
from gymnast.play.recording import Recording
from gymnast.play.session import Session


@dataclass(slots=True)
class Sitting:
    """One use of a game. `end` is called once, however it went."""

    game: Game
    driver: Driver
    limits: Limits
    fps: float
    controls: Controls
    speed: float = 1.0
    recording: Recording | None = None
    on_episode: Callable[[PlayedEpisode], None] | None = None
    session: Session | None = None
    files: tuple[Path, Path] | None = field(default=None)  # video and trace, once it has ended

    def begin(self) -> GameLoop:
        """Start the first episode."""
        return GameLoop(self.start(), self.controls, fps=self.fps, speed=self.speed, limits=self.limits)

    def start(self) -> Session:
        """The session alone, for whoever needs no clock."""
        keep = None if self.recording is None else self.recording.keep
        self.session = Session(self.game, self.driver, keep=keep, on_episode=self.on_episode)
        return self.session

    def end(self) -> None:
        """Complete the recording and close the game."""
        try:
            about = self.game.about()
            if self.session is not None:
                about["seed"] = self.session.first_seed
                self.session.close()
            if self.recording is not None:
                self.files = self.recording.finish(about)
        finally:
            self.game.close()
