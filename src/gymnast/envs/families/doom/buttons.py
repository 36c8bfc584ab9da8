"""Actions as combinations of Doom's buttons: `MOVE_LEFT+ATTACK`, `NOOP`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from gymnast.errors import GymnastError, did_you_mean

NOOP = "NOOP"
_OPPOSITES = (
    frozenset({"MOVE_LEFT", "MOVE_RIGHT"}),
    frozenset({"MOVE_FORWARD", "MOVE_BACKWARD"}),
    frozenset({"TURN_LEFT", "TURN_RIGHT"}),
    frozenset({"LOOK_UP", "LOOK_DOWN"}),
    frozenset({"MOVE_UP", "MOVE_DOWN"}),
)
_MOST_ACTIONS = 4096


def checked_buttons(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """The buttons as the engine spells them."""
    if not wanted:
        raise GymnastError("env.vizdoom.buttons: at least one button is needed")
    spelled = [_spelled(button, known, "env.vizdoom.buttons") for button in wanted]
    return list(dict.fromkeys(spelled))


def is_possible(pressed: Sequence[str]) -> bool:
    """Whether holding these at once can do anything that fewer of them could not."""
    selecting = sum(button.startswith("SELECT_") for button in pressed)
    return selecting <= 1 and not any(pair <= set(pressed) for pair in _OPPOSITES)


def all_combinations(buttons: Sequence[str], max_pressed: int, impossible: bool) -> list[tuple[str, ...]]:
    """Every combination of at most `max_pressed` buttons, few buttons first; `impossible` ones on request."""
    found: list[tuple[str, ...]] = []
    for count in range(min(max_pressed, len(buttons)) + 1):
        for pressed in combinations(buttons, count):
            if impossible or is_possible(pressed):
                found.append(pressed)
            if len(found) > _MOST_ACTIONS:
                raise GymnastError(
                    f"env.vizdoom: {len(buttons)} buttons, up to {max_pressed} at once, make more than"
                    f" {_MOST_ACTIONS} actions; lower max_pressed, or choose buttons or env.actions"
                )
    return found


def chosen_combinations(labels: Sequence[str], buttons: Sequence[str]) -> list[tuple[str, ...]]:
    """What `env.actions` asks for, each written like `MOVE_LEFT+ATTACK`."""
    if not labels:
        raise GymnastError("env.actions: at least one action is needed")
    chosen: list[tuple[str, ...]] = []
    for label in labels:
        parts = [part.strip() for part in label.split("+")]
        if [part.upper() for part in parts] == [NOOP]:
            pressed: tuple[str, ...] = ()
        else:
            held = {_spelled(part, buttons, "env.actions") for part in parts}
            pressed = tuple(button for button in buttons if button in held)
        if pressed in chosen:
            raise GymnastError(f"env.actions: '{label}' stands there twice")
        chosen.append(pressed)
    return chosen


def label_of(pressed: Sequence[str]) -> str:
    return "+".join(pressed) or NOOP


def button_rows(actions: Sequence[Sequence[str]], buttons: Sequence[str]) -> list[list[int]]:
    """What each action sends to the engine: 1 for each button that is held."""
    return [[int(button in pressed) for button in buttons] for pressed in actions]


def possible_mask(actions: Sequence[Sequence[str]]) -> np.ndarray:
    """[actions] int8, for info["action_mask"]."""
    mask = np.array([is_possible(pressed) for pressed in actions], np.int8)
    if not mask.any():
        raise GymnastError("env.action_masks: each of env.actions holds buttons that exclude each other")
    return mask


def _spelled(button: str, known: Sequence[str], key: str) -> str:
    name = button.strip().upper().replace(" ", "_")
    if name not in known:
        extra = f", and {NOOP} for none" if key == "env.actions" else ""
        raise GymnastError(
            f"{key}: there is no button '{button}'{did_you_mean(name, known)};"
            f" there are {', '.join(known)}{extra}"
        )
    return name
