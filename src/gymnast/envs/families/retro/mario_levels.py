"""Every level of Super Mario Bros. to start from: the library has states for the first ones of each world.

The game itself is made to load a level. Which one it loads when Mario has lost a life is in its memory:
written there, and a life taken (and given back), it goes to that level as it would have in play. Whether
it is there is read from the memory again, so a ROM that works otherwise is met with an error.
"""

from __future__ import annotations

import re
from typing import Any

from gymnast.errors import GymnastError

STATES = tuple(f"Level{world}-{stage}" for world in range(1, 9) for stage in range(1, 5))

# Addresses as in the commented disassemblies of the game; numbers count from 0.
_ROUTINE = 0x000E  # what Mario is doing
_LIVES = 0x075A
_STAGE = 0x075C
_WORLD = 0x075F
_AREA = 0x0760  # within the world; some stages have a short area before them
_LOSES_LIFE, _IS_PLAYED = 6, 8  # values of _ROUTINE
# Worlds whose second stage begins with a walk into a pipe, an area of its own.
_WITH_PIPE_WALK = (1, 2, 4, 7)
_MOST_FRAMES = 1_200  # a level is there after about 200


def level_state(console: Any, name: str) -> bytes:
    """The emulator's state at the beginning of a level; `console` is the library's env, just reset."""
    match = re.fullmatch(r"Level(\d)-(\d)", name)
    assert match is not None
    world, stage = int(match[1]), int(match[2])
    wanted = {_WORLD: world - 1, _STAGE: stage - 1, _AREA: area_of(world, stage)}
    memory = console.data.memory
    for address, value in wanted.items():
        memory.assign(address, "|u1", value)
    memory.assign(_LIVES, "|u1", memory.extract(_LIVES, "|u1") + 1)
    memory.assign(_ROUTINE, "|u1", _LOSES_LIFE)
    for _ in range(_MOST_FRAMES):
        console.em.step()
        console.data.update_ram()
        there = all(memory.extract(address, "|u1") == value for address, value in wanted.items())
        if there and memory.extract(_ROUTINE, "|u1") == _IS_PLAYED:
            return bytes(console.em.get_state())
    raise GymnastError(
        f"env.state: the game did not go to {name}; is this ROM changed? A file {name}.state of your own in"
        " the ROM folder serves as well"
    )


def area_of(world: int, stage: int) -> int:
    """The area in which a stage is played."""
    return stage - 1 + (world in _WITH_PIPE_WALK and stage >= 2)
