"""What is known of single games beyond the library's data: a game is added by one entry of TABLES.

Variables are those of the game's `data.json` (`gymnast roms list GAME` shows them). All of it can be
replaced from a config; see `env.retro`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnast.envs.families.retro import mario_levels
from gymnast.envs.families.retro.settings import RewardPart

PROGRESS = "progress"  # the variable whose growth is a gain, where a game has one
LEVELS_DONE = "levels_done"  # made by RetroEpisodes: levels finished in this episode


@dataclass(frozen=True, slots=True)
class GameTable:
    """How one game is played for learning."""

    actions: tuple[str, ...] | None = None  # instead of the console's
    variables: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # weighted sums of others
    level: tuple[str, ...] = ()  # the level is another when one of these changes
    lives: str | None = None  # `lives`, if unset and the game has it
    rewards: Mapping[str, RewardPart] = field(default_factory=dict)  # parts that a config may name
    # States beyond the library's, and what makes one: the emulator's state from its env and a name.
    made_states: tuple[str, ...] = ()
    make_state: Callable[[Any, str], bytes] | None = None


_DEATH = RewardPart(variable="lives", counts="loss", weight=-5.0)
_LEVEL = RewardPart(variable=LEVELS_DONE, counts="gain", weight=15.0)

TABLES: Mapping[str, GameTable] = {
    "Airstriker-Genesis": GameTable(
        actions=("NOOP", "LEFT", "RIGHT", "B", "LEFT+B", "RIGHT+B"),
        rewards={
            "score": RewardPart(variable="score", counts="gain", weight=0.05),
            "death": RewardPart(variable="lives", counts="loss", weight=-1.0),
        },
    ),
    "SuperMarioBros-Nes": GameTable(
        # Nobody learns to go left for long; B runs, A jumps.
        actions=("NOOP", "RIGHT", "RIGHT+A", "RIGHT+B", "RIGHT+A+B", "A", "LEFT"),
        # The screen's left edge in pixels: its page and its place within the page.
        variables={PROGRESS: {"xscrollHi": 256, "xscrollLo": 1}},
        level=("levelHi", "levelLo"),
        rewards={
            # A running Mario moves the screen by about ten pixels in four frames.
            "progress": RewardPart(variable=PROGRESS, counts="change", weight=0.1, limit=100),
            # The clock ticks once in 24 frames; faster, it is being counted out after the flag.
            "time": RewardPart(variable="time", counts="loss", weight=-0.1, limit=1),
            "death": _DEATH,
            "level": _LEVEL,
        },
        made_states=mario_levels.STATES,
        make_state=mario_levels.level_state,
    ),
    "SonicTheHedgehog-Genesis": GameTable(
        actions=("NOOP", "LEFT", "RIGHT", "DOWN", "LEFT+DOWN", "RIGHT+DOWN", "DOWN+B", "B", "RIGHT+B"),
        variables={PROGRESS: {"x": 1}},
        level=("zone", "act"),
        rewards={
            "progress": RewardPart(variable=PROGRESS, counts="change", weight=0.02, limit=200),
            "rings": RewardPart(variable="rings", counts="gain", weight=0.1),
            "death": _DEATH,
            "level": _LEVEL,
        },
    ),
}
