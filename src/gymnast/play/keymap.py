"""From the keys that are held to an action, for any action space.

A choice among labels is made by buttons: `UP+FIRE` and ALE's `UPFIRE` are two, held together; `NOOP` is none.
Of the actions whose buttons are all held the one with the most wins, among equals the one that was pressed
last, and none that is masked. Real numbers have a key for less and one for more; where an action has several
factors, each has keys of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.errors import GymnastError, did_you_mean
from gymnast.play.default_keys import axis_keys, keys_for, second_keys
from gymnast.play.keyboard import KEYS, known_key
from gymnast.traces.action_text import ActionNames

_NEUTRAL = {
    "noop",
    "nothing",
    "none",
    "no op",
    "no torque",
    "no push",
    "stay",
    "idle",
    "still",
    "coast",
    "wait",
}
_ALE = re.compile(r"(UP|DOWN)?(LEFT|RIGHT)?(FIRE)?")
_SETTING = "play.keys"


@dataclass(frozen=True, slots=True)
class Binding:
    """What a key does, for the screen."""

    keys: tuple[str, ...]
    does: str


class KeyMap:
    """The keys of one action space. Actions are flat [K], as `spaces/action_form.py` has them."""

    def __init__(self, names: ActionNames, changes: Mapping[str, str] | None = None) -> None:
        """`changes` are keys by button, as `play.keys` has them."""
        self._names, self._form = names, names.form
        self._by_button: dict[str, tuple[str, ...]] = {}
        if names.discrete:
            self._buttons = _button_sets(names.choices)
            wanted = list(dict.fromkeys(button for held in self._buttons for button in held))
            self._axes: dict[str, tuple[float, float, float]] = {}
            self._bind(wanted, changes or {})
        else:
            self._axes = _axis_bounds(names)
            buttons = [
                name if size == 2 else f"{name}={choice}"
                for name, size in zip(names.factors, self._form.sizes, strict=True)
                for choice in range(1, size)
            ]
            self._bind(buttons, changes or {})

    def _bind(self, buttons: list[str], changes: Mapping[str, str]) -> None:
        ways = {
            name: [sign for sign, end in (("-", low), ("+", high)) if end != rest]
            for name, (low, rest, high) in self._axes.items()
        }
        axes = [f"{name}{sign}" for name, signs in ways.items() for sign in signs]
        found = _changed([*buttons, *axes], changes)
        pairs = axis_keys(list(ways), [len(signs) < 2 for signs in ways.values()], found.values())
        for (name, signs), pair in zip(ways.items(), pairs, strict=True):
            for sign, own in zip("-+", pair or (), strict=False):
                if sign in signs:
                    found.setdefault(f"{name}{sign}", own)
        found |= keys_for([button for button in buttons if button not in found], found.values())
        extra = second_keys(found.values())
        self._by_button = {
            button: (key, *((extra[key],) if key in extra else ()))
            for button in (*buttons, *axes)
            if (key := found.get(button)) is not None
        }
        self._of_key = {key: button for button, keys in self._by_button.items() for key in keys}

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """Every button with its keys."""
        return tuple(Binding(keys, button) for button, keys in self._by_button.items())

    def range_of(self, number: str) -> tuple[float, float]:
        """The least and the greatest value that keys give a real number of the action."""
        low, _, high = self._axes[number]
        return low, high

    @property
    def keys(self) -> set[str]:
        """All that mean something."""
        return set(self._of_key)

    @property
    def has_neutral(self) -> bool:
        """Whether holding no key is an action too."""
        return not self._names.discrete or frozenset() in self._buttons

    @property
    def combines(self) -> bool:
        """Whether keys held together do something else than each of them."""
        return not self._names.discrete or any(len(buttons) > 1 for buttons in self._buttons)

    def action(self, held: Sequence[str], mask: np.ndarray | None = None) -> np.ndarray | None:
        """The action [K] of the keys held, oldest first, as a mask [M] allows; None: they mean nothing."""
        pressed = [self._of_key[key] for key in held if key in self._of_key]
        if self._names.discrete:
            return self._choice(pressed, mask)
        flat: np.ndarray = np.zeros(self._form.n_columns, self._form.dtype)
        row = 0
        for column, (name, size) in enumerate(zip(self._names.factors, self._form.sizes, strict=True)):
            if size == 0:
                flat[column] = self._along(name, pressed)
                continue
            wanted = 0
            for choice in range(1, size):
                button = name if size == 2 else f"{name}={choice}"
                if button in pressed:
                    wanted = choice
            if mask is not None and not mask[row + wanted]:
                wanted = int(mask[row : row + size].argmax())
            flat[column] = wanted
            row += size
        return flat

    def _choice(self, pressed: list[str], mask: np.ndarray | None) -> np.ndarray | None:
        when = {button: index for index, button in enumerate(pressed)}
        possible = [
            (len(buttons), max((when[b] for b in buttons), default=-1), -index)
            for index, buttons in enumerate(self._buttons)
            if buttons <= when.keys() and (mask is None or mask[index])
        ]
        return np.array([-max(possible)[2]]) if possible else None

    def _along(self, name: str, pressed: list[str]) -> float:
        low, neutral, high = self._axes[name]
        ways = [button[-1] for button in pressed if button[:-1] == name and button[-1] in "-+"]
        return {"-": low, "+": high}[ways[-1]] if ways else neutral


def _button_sets(labels: Sequence[str]) -> list[frozenset[str]]:
    """What is held for each of the labels."""
    is_ale = all(label == "NOOP" or (label and _ALE.fullmatch(label)) for label in labels)
    found = []
    for label in labels:
        if label.lower().replace("_", " ") in _NEUTRAL:
            found.append(frozenset[str]())
        elif is_ale and (match := _ALE.fullmatch(label)) is not None:
            found.append(frozenset(part for part in match.groups() if part))
        else:
            found.append(frozenset(part.strip() for part in re.split(r"\+(?!\d|$)", label)))
    return found


def _axis_bounds(names: ActionNames) -> dict[str, tuple[float, float, float]]:
    """Of each real number: least, where it rests, greatest; without bounds -1, 0 and 1."""
    if not names.numbers:
        return {}
    box = names.form.box()
    low = np.where(np.isfinite(box.low) & (np.abs(box.low) < 1e6), box.low, -1.0)
    high = np.where(np.isfinite(box.high) & (np.abs(box.high) < 1e6), box.high, 1.0)
    rest = np.clip(0.0, low, high)
    rows = np.stack([low, rest, high], 1).astype(np.float64).tolist()
    return {name: (row[0], row[1], row[2]) for name, row in zip(names.numbers, rows, strict=True)}


def _changed(buttons: Sequence[str], changes: Mapping[str, str]) -> dict[str, str]:
    """`play.keys`, checked: button → key."""
    spelled = {button.lower(): button for button in buttons}
    found: dict[str, str] = {}
    for button, key in changes.items():
        own = spelled.get(button.strip().lower())
        if own is None:
            raise GymnastError(
                f"{_SETTING}: there is no action {button!r}{did_you_mean(button, buttons)};"
                f" there are {', '.join(buttons)}"
            )
        wanted = known_key(key, f"{_SETTING}.{button}")
        if wanted in found.values():
            other = next(name for name, used in found.items() if used == wanted)
            raise GymnastError(f"{_SETTING}.{button}: the key {wanted!r} is that of {other} already")
        found[own] = wanted
    return found


def as_step(action: np.ndarray, names: ActionNames, offset: int = 0) -> np.ndarray:
    """A flat action [K] as `Envs.step` takes it; `offset` is where a task's own choices begin in a mix."""
    if names.discrete:
        return np.array([int(action[0]) + offset])
    return action[None]


def shown_bindings(keymap: KeyMap) -> list[dict[str, Any]]:
    """For the page: which keys, by code and by what is written on them, do what."""
    return [
        {
            "codes": [KEYS[key].code for key in binding.keys],
            "keys": [KEYS[key].shown for key in binding.keys],
            "does": binding.does,
        }
        for binding in keymap.bindings
    ]
