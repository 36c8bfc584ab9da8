"""The keys of a keyboard by name: as a browser, pygame and a person call them."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase, digits

from gymnast.errors import GymnastError, did_you_mean


@dataclass(frozen=True, slots=True)
class Key:
    """One key, by its place on the keyboard and not by what it writes."""

    name: str  # in settings
    code: str  # KeyboardEvent.code
    pygame: str  # the constant of pygame
    shown: str


_NAMED = (
    Key("left", "ArrowLeft", "K_LEFT", "←"),
    Key("right", "ArrowRight", "K_RIGHT", "→"),
    Key("up", "ArrowUp", "K_UP", "↑"),
    Key("down", "ArrowDown", "K_DOWN", "↓"),
    Key("space", "Space", "K_SPACE", "Space"),
    Key("enter", "Enter", "K_RETURN", "Enter"),
    Key("shift", "ShiftLeft", "K_LSHIFT", "Shift"),
    Key("comma", "Comma", "K_COMMA", ","),
    Key("semicolon", "Semicolon", "K_SEMICOLON", ";"),
    Key("slash", "Slash", "K_SLASH", "/"),
    Key("tab", "Tab", "K_TAB", "Tab"),
    Key("escape", "Escape", "K_ESCAPE", "Esc"),
    Key("backspace", "Backspace", "K_BACKSPACE", "Backspace"),
    Key("period", "Period", "K_PERIOD", "."),
    Key("minus", "Minus", "K_MINUS", "-"),
    Key("equal", "Equal", "K_EQUALS", "="),
    Key("f2", "F2", "K_F2", "F2"),
)
KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        *_NAMED,
        *(Key(letter, f"Key{letter.upper()}", f"K_{letter}", letter.upper()) for letter in ascii_lowercase),
        *(Key(digit, f"Digit{digit}", f"K_{digit}", digit) for digit in digits),
    )
}
BY_CODE = {key.code: key.name for key in KEYS.values()}

# What the player itself is controlled with: name → (key, what it does).
CONTROLS: dict[str, tuple[str, str]] = {
    "take_over": ("tab", "take over / hand back"),
    "pause": ("escape", "pause / continue"),
    "step": ("period", "one step"),
    "restart": ("backspace", "restart"),
    "slower": ("minus", "slower"),
    "faster": ("equal", "faster"),
    "screenshot": ("f2", "screenshot"),
}
RESERVED = dict(CONTROLS.values())


def known_key(name: str, setting: str) -> str:
    """The key that a setting names; GymnastError if there is none, or it is taken."""
    wanted = name.strip().lower()
    if wanted not in KEYS:
        free = [key for key in KEYS if key not in RESERVED]
        raise GymnastError(
            f"{setting}: there is no key {name!r}{did_you_mean(wanted, free)}; there are letters, digits,"
            " left, right, up, down, space, enter, shift, comma, semicolon and slash"
        )
    if wanted in RESERVED:
        raise GymnastError(f"{setting}: the key {wanted!r} is taken: {RESERVED[wanted]}; choose another")
    return wanted
