"""What a cell of MiniGrid holds, as one number, and tables of what such a thing is and does.

The lowest eight bits are MiniGrid's own three numbers in one: kind + 11 · colour + 66 · state. Above them
is a flag for the thing whose picking up or opening ends the episode, and above that what a box contains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from minigrid.core.actions import Actions
from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Lava, Wall

from gymnast.envs.wrappers.minigrid import COUNTS, PLANES

KINDS, COLOURS, STATES = COUNTS
UNSEEN, EMPTY = 0, 1
OWN = 0xFF
TARGET = 0x100
CONTENTS_SHIFT = 9
OPEN, CLOSED, LOCKED = 0, KINDS * COLOURS, 2 * KINDS * COLOURS  # what a door's state adds
N_CODES = 3 * KINDS * COLOURS  # the fourth state is a direction of an agent, which no cell of a view holds
N_ACTIONS = len(Actions)
LEFT, RIGHT, FORWARD = Actions.left.value, Actions.right.value, Actions.forward.value
PICKUP, DROP, TOGGLE = Actions.pickup.value, Actions.drop.value, Actions.toggle.value

# Exact classes only: one of a user's own may behave in another way.
_KIND_OF = {
    cls: OBJECT_TO_IDX[cls.__name__.lower()] for cls in (Wall, Floor, Door, Key, Ball, Box, Goal, Lava)
}
_COLOUR_OF = {name: KINDS * index for name, index in COLOR_TO_IDX.items()}
_WALL, _FLOOR, DOOR, KEY, _BALL, BOX, _GOAL, _LAVA = _KIND_OF.values()
WALL = _WALL + _COLOUR_OF["grey"]  # what MiniGrid shows outside of the grid


def own_code(thing: Any) -> int:
    """The lowest eight bits of one thing; KeyError if its class is not one of MiniGrid's own."""
    if thing is None:
        return EMPTY
    code: int = _KIND_OF[thing.__class__] + _COLOUR_OF[thing.color]
    if thing.__class__ is Door and not thing.is_open:
        code += LOCKED if thing.is_locked else CLOSED
    return code


def cell_code(thing: Any, target: Any) -> int:
    """All that an episode can depend on of one thing, what is in a box included."""
    if thing is None:
        return EMPTY
    code = own_code(thing)
    inside = thing.contains if code % KINDS == BOX else None
    if inside is not None:
        code |= cell_code(inside, target) << CONTENTS_SHIFT
    return code | TARGET if thing is target else code


_KIND, _STATE = np.arange(N_CODES) % KINDS, np.arange(N_CODES) // (KINDS * COLOURS)
_OPEN_DOOR = (_KIND == DOOR) & (_STATE == 0)
_ENTERED = np.isin(_KIND, (EMPTY, _FLOOR, _GOAL, _LAVA)) | _OPEN_DOOR
# What can be seen through, as a number that bits are made of by a matrix product.
CLEAR = (~np.isin(_KIND, (_WALL, DOOR)) | _OPEN_DOOR).astype(np.float32)
# [code, plane] uint8: a cell as `minigrid-planes` shows it.
CODE_PLANES = PLANES[:N_CODES]


def _by_action(**effects: np.ndarray) -> np.ndarray:
    """A table by `action · N_CODES + code of the cell ahead`."""
    table = np.zeros((N_ACTIONS, N_CODES), np.bool_)
    for action, effect in effects.items():
        table[Actions[action].value] = effect
    return table.reshape(-1)


MOVES = _by_action(forward=_ENTERED).astype(np.int64)
ENDS = _by_action(forward=np.isin(_KIND, (_GOAL, _LAVA)))
REACHES_GOAL = _by_action(forward=_KIND == _GOAL)
# Where things may change; `native.py` looks closer at these few.
MAY_CHANGE = _by_action(
    pickup=np.isin(_KIND, (KEY, _BALL, BOX)), drop=_KIND == EMPTY, toggle=np.isin(_KIND, (DOOR, BOX))
)
TURNS = np.zeros(N_ACTIONS, np.int64)
TURNS[LEFT], TURNS[RIGHT] = -1, 1
