"""Playing in a window of this machine, for the least delay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gymnast.drawing import BACKGROUND
from gymnast.errors import GymnastError
from gymnast.play.keyboard import CONTROLS, KEYS
from gymnast.play.loop import GameLoop
from gymnast.play.shown import moment_of
from gymnast.play.sitting import Sitting
from gymnast.play.window_panel import PANEL_WIDTH, Panel
from gymnast.runs.files import write_atomic
from gymnast.traces.png import encode_png
from gymnast.training.run.signals import catch_signals

_LONGEST = 720  # small pictures are enlarged up to this
_LEAST_HEIGHT = 480


def play_in_window(sitting: Sitting) -> None:
    """Until the window is closed, the game is over, or Ctrl-C."""
    try:
        with sitting.game.threads(), catch_signals() as request:
            window = Window(sitting.begin())
            try:
                while window.loop.ended is None:
                    if request.requested is not None:
                        window.loop.controls.ask("quit", "it was interrupted")
                    window.turn()
            finally:
                window.close()
    finally:
        sitting.end()


class Window:
    """The picture, enlarged, and a panel beside it."""

    def __init__(self, loop: GameLoop) -> None:
        import pygame

        self.loop, self._pygame = loop, pygame
        picture = loop.session.moment.picture
        assert picture is not None
        height, width = picture.shape[:2]
        self._factor = max(1, _LONGEST // max(height, width))
        self._panel = Panel(loop)
        self._area = (max(height * self._factor, self._panel.height, _LEAST_HEIGHT), width * self._factor)
        try:
            pygame.display.init()
            pygame.font.init()
            self._surface = pygame.display.set_mode((self._area[1] + PANEL_WIDTH, self._area[0]))
        except pygame.error as error:
            raise GymnastError(f"--window: no window can be opened here: {error}") from error
        self._names = {getattr(pygame, key.pygame): name for name, key in KEYS.items()}
        self._commands = {key: command for command, (key, _) in CONTROLS.items()}
        self._held: list[str] = []
        self._shown = -1
        self._saved: str | None = None

    def turn(self) -> None:
        """Look at the keyboard, play what is due, draw what is new, and wait a little."""
        for event in self._pygame.event.get():
            self._hear(event)
        wait = self.loop.tick()
        if self.loop.version != self._shown:
            self._shown = self.loop.version
            self._draw()
        self._pygame.time.wait(round(1000 * min(max(wait, 0.001), 0.01)))

    def _hear(self, event: Any) -> None:
        pygame, controls = self._pygame, self.loop.controls
        if event.type == pygame.QUIT:
            controls.ask("quit", "the window was closed")
        elif event.type == pygame.WINDOWFOCUSLOST:
            self._held = []
            controls.lose("the window lost the keyboard")
        elif event.type == pygame.WINDOWFOCUSGAINED:
            controls.hold(self._held)
        elif not pygame.key.get_focused():
            return  # keys of another window
        elif event.type == pygame.KEYDOWN and (name := self._names.get(event.key)) is not None:
            if name in self._commands:
                self._command(self._commands[name])
            elif name not in self._held:
                self._held.append(name)
                controls.hold(self._held)
        elif event.type == pygame.KEYUP and (name := self._names.get(event.key)) in self._held:
            self._held.remove(name)
            controls.hold(self._held)

    def _command(self, name: str) -> None:
        if name == "screenshot":
            self._save_picture()
        else:
            self.loop.controls.ask(name)

    def _save_picture(self) -> None:
        step, env = self.loop.session.moment, self.loop.session.game.env
        assert step.picture is not None
        name = f"{env.id.replace('/', '-').replace(':', '-')}-{env.seed}-{step.step}.png"
        write_atomic(Path.cwd() / name, encode_png(step.picture), durable=False)
        self._saved = f"saved {name}"
        self.loop.version += 1

    def _draw(self) -> None:
        picture = self.loop.session.moment.picture
        assert picture is not None
        if self._factor > 1:
            picture = picture.repeat(self._factor, 0).repeat(self._factor, 1)
        frame = np.empty((self._area[0], self._area[1] + PANEL_WIDTH, 3), np.uint8)
        frame[...] = BACKGROUND
        top = (self._area[0] - picture.shape[0]) // 2
        height, width = min(picture.shape[0], self._area[0]), min(picture.shape[1], self._area[1])
        frame[max(top, 0) : max(top, 0) + height, :width] = picture[:height, :width]
        now = moment_of(self.loop)
        frame[:, self._area[1] :] = self._panel.draw(now, self._area[0], self._saved)
        state = "paused" if now["paused"] else now["driver"]
        title = f"{self.loop.session.game.env.id} · {state} · step {now['step']} – Gymnast"
        self._pygame.display.set_caption(title)
        image = self._pygame.image.frombuffer(frame.tobytes(), frame.shape[1::-1], "RGB")
        self._surface.blit(image, (0, 0))
        self._pygame.display.flip()

    def close(self) -> None:
        self._pygame.display.quit()
