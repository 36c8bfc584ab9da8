"""Combinations of buttons by label: `RIGHT+B`, `NOOP`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.errors import GymnastError, did_you_mean

NOOP = "NOOP"
_DIRECTIONS = ("UP", "DOWN", "LEFT", "RIGHT")
_OPPOSITE = ({"UP", "DOWN"}, {"LEFT", "RIGHT"})


def default_labels(groups: Sequence[Sequence[Sequence[str]]]) -> tuple[str, ...]:
    """Every direction with every single button: few enough to learn with, and no START among them.

    On consoles with two buttons, both at once too. `groups` is what can be pressed together. X, Y and Z
    beside A, B and C are of a later pad that few games know, and are left out.
    """
    flat = [list(combination) for group in groups for combination in group]
    directions = [button for button in _DIRECTIONS if [button] in flat]
    fire = [c for c in flat if c and not set(c) & set(_DIRECTIONS)]
    singles = list(dict.fromkeys(combination[0] for combination in fire if len(combination) == 1))
    if set(singles) == set("ABCXYZ"):
        singles = ["A", "B", "C"]
    pressed = [[], *([single] for single in singles)]
    if len(singles) == 2:
        pressed.append(singles)
    return tuple(
        "+".join([*([direction] if direction else []), *held]) or NOOP
        for direction in ("", *directions)
        for held in pressed
    )


def button_masks(labels: Sequence[str], buttons: Sequence[str | None]) -> tuple[tuple[str, ...], np.ndarray]:
    """The labels as they are shown, and what each presses: uint8 [actions, buttons]."""
    named = [button for button in buttons if button is not None]
    if not labels:
        raise GymnastError("env.actions: at least one action is needed")
    masks = np.zeros((len(labels), len(buttons)), np.uint8)
    shown = []
    for label, mask in zip(labels, masks, strict=True):
        held = [part.strip().upper() for part in label.split("+")]
        if held == [NOOP]:
            shown.append(NOOP)
            continue
        for button in held:
            if button not in named:
                hint = did_you_mean(button, named)
                raise GymnastError(
                    f"env.actions: there is no button '{button}' in '{label}'{hint};"
                    f" there are {', '.join(named)}, and {NOOP} for none"
                )
            mask[buttons.index(button)] = 1
        if any(pair <= set(held) for pair in _OPPOSITE):
            raise GymnastError(f"env.actions: '{label}': a pad cannot point both ways at once")
        shown.append("+".join(held))
    for index, mask in enumerate(masks):
        for other in range(index):
            if (masks[other] == mask).all():
                raise GymnastError(f"env.actions: '{shown[other]}' and '{shown[index]}' are the same action")
    return tuple(shown), masks
