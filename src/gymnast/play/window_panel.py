"""What stands beside the picture in a window: who plays, numbers, the policy's bars, the keys.

Everything has its place for the whole sitting, whether it is known at the moment or not, and the window
is as high as that needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.drawing import ACCENT, BACKGROUND, FAINT, PANEL, TEXT, WARM, Canvas, text_width
from gymnast.play.keyboard import CONTROLS, KEYS
from gymnast.play.loop import GameLoop

PANEL_WIDTH = 320
_MARGIN = 16
_MOST_BARS = 10
_MOST_PARTS = 4  # of an action
_MOST_KEYS = 16  # of a robot with many joints
_ONE_COLUMN = 8  # keys of the game; more stand in two
_WHO = {"human": "you play", "policy": "the policy plays", "random": "chance plays"}


class Panel:
    """The right side of a window."""

    def __init__(self, loop: GameLoop) -> None:
        game = loop.session.game
        self._actions = game.env.actions
        self._parts = ("env", *game.env.envs.reward_parts) if game.env.envs.reward_parts else ()
        self._policy = game.player is not None
        self._listed = tuple(range(min(len(self._actions.choices), _MOST_BARS)))  # choices that have a bar
        keys = [(" ".join(map(_written, b.keys)), b.does) for b in game.keymap.bindings]
        self._keys = keys[:_MOST_KEYS]
        self._action_rows = max(1, min(len(self._actions.factors), _MOST_PARTS))
        self._controls = [
            (_written(key), does)
            for name, (key, does) in CONTROLS.items()
            if name != "take_over" or len(game.drivers) > 1
        ]

    @property
    def height(self) -> int:
        """What it needs."""
        numbers = 5 + self._action_rows + len(self._parts)
        bars = len(self._listed) + len(self._actions.numbers[:_MOST_BARS]) if self._policy else 0
        rows = _rows(len(self._keys)) + 1 + len(self._controls) // 2
        return 68 + 21 * numbers + 8 + (18 * bars + 10 if bars else 0) + 19 * rows + 6 + _MARGIN

    def draw(self, now: dict[str, Any], height: int, saved: str | None) -> np.ndarray:
        canvas = Canvas(PANEL_WIDTH, height, PANEL)
        state = now["ended"] or now["paused"] or now["notice"] or now["waiting"] or saved
        canvas.text(_WHO[now["driver"]], _MARGIN, 14, 26, ACCENT)
        colour = WARM if state else FAINT
        canvas.text(state or f"{now['speed']:g}×", _MARGIN, 40, 20, colour, width=PANEL_WIDTH - 2 * _MARGIN)
        y = self._numbers(canvas, now)
        if self._policy:
            y = self._bars(canvas, now, y)
        self._key_rows(canvas, y)
        return canvas.array()

    def _numbers(self, canvas: Canvas, now: dict[str, Any]) -> int:
        rows = [(name, _short(now[name])) for name in ("episode", "step", "return", "reward", "value")]
        done = (now["action"] or "–").split("  ")  # of several parts, one below the other
        done = [*done, *[""] * self._action_rows][: self._action_rows]
        rows += [("action" if at == 0 else "", part) for at, part in enumerate(done)]
        for name in self._parts:
            value, total = now["parts"].get(name, 0.0), now["part_sums"].get(name, 0.0)
            rows.append((f"  {name}", f"{_short(value)}, in all {_short(total)}"))
        y = 68
        for name, text in rows:
            canvas.text(name, _MARGIN, y, 20, FAINT)
            x = max(110, _MARGIN + text_width(name, 20) + 10)
            canvas.text(text, x, y, 20, TEXT, width=PANEL_WIDTH - x - _MARGIN)
            y += 21
        return y + 8

    def _bars(self, canvas: Canvas, now: dict[str, Any], y: int) -> int:
        shares = [share or 0.0 for share in now["probabilities"]]
        if shares:
            likeliest = sorted(range(len(shares)), key=lambda index: -shares[index])[:_MOST_BARS]
            self._listed = tuple(sorted(likeliest))
        for index in self._listed:
            would = now["would"] == [float(index)]
            canvas.text(self._actions.choices[index], _MARGIN, y, 18, TEXT if would else FAINT, width=164)
            canvas.rectangle(186, y + 3, 76, 8, BACKGROUND)
            if shares:
                width = max(1, round(76 * shares[index]))
                canvas.rectangle(186, y + 3, width, 8, WARM if would else ACCENT)
            share = f"{100 * shares[index]:.0f} %" if shares else "–"
            canvas.text(share, PANEL_WIDTH - _MARGIN, y, 18, FAINT, "right")
            y += 18
        numbers = self._actions.numbers[:_MOST_BARS]
        for at, name in enumerate(numbers):
            canvas.text(name, _MARGIN, y, 18, FAINT, width=164)
            known = f"{_short(now['mean'][at])} ± {_short(now['std'][at])}" if now["mean"] else "–"
            canvas.text(known, PANEL_WIDTH - _MARGIN, y, 18, TEXT, "right")
            y += 18
        return y + (10 if self._listed or numbers else 0)

    def _key_rows(self, canvas: Canvas, y: int) -> None:
        two = len(self._keys) > _ONE_COLUMN
        for at, (keys, does) in enumerate(self._keys):
            x, row = (_MARGIN + 148 * (at % 2), at // 2) if two else (_MARGIN, at)
            _key(canvas, keys, does, x, y + 19 * row, 40 if two else 104, 140 if two else 288)
        y += 19 * _rows(len(self._keys)) + 6
        first, *others = self._controls if len(self._controls) % 2 else [("", ""), *self._controls]
        _key(canvas, *first, _MARGIN, y, 76, 288)
        for at, (keys, does) in enumerate(others):
            x, indent = (_MARGIN, 76) if at % 2 == 0 else (210, 28)
            _key(canvas, keys, does, x, y + 19 * (1 + at // 2), indent, 188)


def _key(canvas: Canvas, keys: str, does: str, x: int, y: int, indent: int, width: int) -> None:
    """A key and, as far to its right as others have it, what it does."""
    indent = max(indent, text_width(keys, 18) + 8)
    canvas.text(keys, x, y, 18, ACCENT)
    canvas.text(does, x + indent, y, 18, FAINT, width=min(width, PANEL_WIDTH - x - 8) - indent)


def _rows(keys: int) -> int:
    return keys if keys <= _ONE_COLUMN else (keys + 1) // 2


def _written(key: str) -> str:
    """Words, since the font of the panel has no arrows."""
    return KEYS[key].shown if KEYS[key].shown.isascii() else key


def _short(value: float | None) -> str:
    if value is None:
        return "–"
    value += 0.0  # and no -0
    return f"{value:,.0f}" if abs(value) >= 10_000 or value == int(value) else f"{value:.3g}"
