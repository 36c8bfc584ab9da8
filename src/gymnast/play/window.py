"""Playing in a window of this machine, for the least delay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gymnast.drawing import ACCENT, BACKGROUND, FAINT, PANEL, TEXT, WARM, Canvas
from gymnast.errors import GymnastError
from gymnast.play.keyboard import CONTROLS, KEYS
from gymnast.play.loop import GameLoop
from gymnast.play.shown import moment_of
from gymnast.play.sitting import Sitting
from gymnast.runs.files import write_atomic
from gymnast.traces.png import encode_png
from gymnast.training.run.signals import catch_signals

PANEL_WIDTH = 320
_LONGEST = 720  # small pictures are enlarged up to this
_LEAST_HEIGHT = 560  # what the panel needs
_MOST_BARS = 10


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
        self._area = (max(height * self._factor, _LEAST_HEIGHT), width * self._factor)
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
        frame[:, self._area[1] :] = self._panel(now)
        state = "paused" if now["paused"] else now["driver"]
        title = f"{self.loop.session.game.env.id} · {state} · step {now['step']} – Gymnast"
        self._pygame.display.set_caption(title)
        image = self._pygame.image.frombuffer(frame.tobytes(), frame.shape[1::-1], "RGB")
        self._surface.blit(image, (0, 0))
        self._pygame.display.flip()

    def _panel(self, now: dict[str, Any]) -> np.ndarray:
        height = self._area[0]
        canvas = Canvas(PANEL_WIDTH, height, PANEL)
        who = {"human": "you play", "policy": "the policy plays", "random": "chance plays"}[now["driver"]]
        state = now["ended"] or now["paused"] or now["notice"] or now["waiting"] or self._saved
        canvas.text(who, 16, 14, 26, ACCENT)
        shown = state or f"{now['speed']:g}×"
        canvas.text(shown, 16, 40, 20, WARM if state else FAINT, width=PANEL_WIDTH - 32)
        rows = [
            ("episode", f"{now['episode']}"),
            ("step", f"{now['step']:,}"),
            ("return", _short(now["return"])),
            ("reward", _short(now["reward"])),
            ("value", _short(now["value"])),
            ("action", now["action"] or "–"),
        ]
        for name, value in now["parts"].items():
            rows.append((f"  {name}", f"{_short(value)}, in all {_short(now['part_sums'].get(name))}"))
        y = 68
        for name, value in rows:
            canvas.text(name, 16, y, 20, FAINT)
            canvas.text(value, 110, y, 20, TEXT, width=PANEL_WIDTH - 126)
            y += 21
        y = self._bars(canvas, now, y + 8)
        for keys, does in self._key_rows():
            if y > height - 20:
                break
            canvas.text(keys, 16, y, 18, ACCENT, width=100)
            canvas.text(does, 120, y, 18, FAINT, width=PANEL_WIDTH - 136)
            y += 19
        return canvas.array()

    def _bars(self, canvas: Canvas, now: dict[str, Any], y: int) -> int:
        choices = self.loop.session.game.env.actions.choices
        likeliest = sorted(range(len(now["probabilities"])), key=lambda i: -(now["probabilities"][i] or 0))
        for index in sorted(likeliest[:_MOST_BARS]):
            probability = now["probabilities"][index] or 0.0
            would = now["would"] == [float(index)]
            canvas.text(choices[index], 16, y, 18, TEXT if would else FAINT, width=126)
            canvas.rectangle(150, y + 3, 110, 8, BACKGROUND)
            canvas.rectangle(150, y + 3, max(1, round(110 * probability)), 8, WARM if would else ACCENT)
            canvas.text(f"{100 * probability:.0f} %", PANEL_WIDTH - 16, y, 18, FAINT, "right")
            y += 18
        numbers = self.loop.session.game.env.actions.numbers[:_MOST_BARS] if now["mean"] else ()
        for name, mean, std in zip(numbers, now["mean"], now["std"], strict=False):
            canvas.text(name, 16, y, 18, FAINT, width=126)
            canvas.text(f"{_short(mean)} ± {_short(std)}", PANEL_WIDTH - 16, y, 18, TEXT, "right")
            y += 18
        return y + (10 if likeliest or numbers else 0)

    def _key_rows(self) -> list[tuple[str, str]]:
        bindings = self.loop.session.game.keymap.bindings
        game = [(" ".join(_written(key) for key in b.keys), b.does) for b in bindings]
        return [*game, *((_written(key), does) for key, does in CONTROLS.values())]

    def close(self) -> None:
        self._pygame.display.quit()


def _written(key: str) -> str:
    """Words, since the font of the panel has no arrows."""
    return KEYS[key].shown if KEYS[key].shown.isascii() else key


def _short(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 or value == int(value) else f"{value:.3g}"
