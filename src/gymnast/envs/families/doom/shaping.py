"""Further rewards from what happens in the game: a weight for each thing that a variable counts.

Counters are compared with what they were after the last step, and with what they were when the episode
began: the first step pays for that step alone, and dying for the health that there was.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gymnast.envs.families.doom.settings import DoomRewards

Read = Callable[[str], float]  # a game variable, by name

# What is counted by the sum of some variables. Ammunition is by kind, of which weapons may share one: 2 and
# 4 fire bullets, 6 and 7 use cells.
_SUMS: dict[str, tuple[str, ...]] = {
    "kills": ("KILLCOUNT",),
    "damage": ("DAMAGECOUNT",),
    "hits": ("HITCOUNT",),
    "damage_taken": ("DAMAGE_TAKEN",),
    "hits_taken": ("HITS_TAKEN",),
    "health": ("HEALTH",),
    "armor": ("ARMOR",),
    "ammo": ("AMMO2", "AMMO3", "AMMO5", "AMMO6"),
    "items": ("ITEMCOUNT",),
    "secrets": ("SECRETCOUNT",),
    "frags": ("FRAGCOUNT",),
}
_MAY_BE_NEGATIVE = ("frags",)
_SQUARE = 128.0  # map units: a little more than a door is wide


def amount(component: str, read: Read) -> float:
    """How much there is now of what a component counts."""
    total = sum(read(variable) for variable in _SUMS[component])
    # The variables of a player who is dead or gone may be absurd: health far below 0.
    return total if component in _MAY_BE_NEGATIVE else max(total, 0.0)


class Shaping:
    """The shares of the reward, step by step."""

    def __init__(self, rewards: DoomRewards) -> None:
        self.weights = {name: weight for name, weight in rewards if weight != 0.0}
        self._counted = [name for name in self.weights if name in _SUMS]
        self._walked = bool({"progress", "exploration"} & set(self.weights))
        self._before: dict[str, float] = {}
        self._start = (0.0, 0.0)
        self._farthest = 0.0
        self._squares: set[tuple[int, int]] = set()

    def begin(self, read: Read) -> None:
        """A new episode has begun."""
        self._before = {name: amount(name, read) for name in self._counted}
        if self._walked:
            self._start = (read("POSITION_X"), read("POSITION_Y"))
            self._farthest = 0.0
            self._squares = {_square(*self._start)}

    def shares(self, read: Read, *, playing: bool, died: bool) -> dict[str, float]:
        """What the last step earned; `playing`: the player is still on the map."""
        weights, shares = self.weights, {}
        for name in self._counted:
            now = 0.0 if died and name == "health" else amount(name, read)
            shares[name] = weights[name] * (now - self._before[name])
            self._before[name] = now
        if self._walked:
            farther, entered = self._walk(read) if playing else (0.0, 0.0)
            if "progress" in weights:
                shares["progress"] = weights["progress"] * farther
            if "exploration" in weights:
                shares["exploration"] = weights["exploration"] * entered
        if "death" in weights:
            shares["death"] = weights["death"] * died
        return shares

    def _walk(self, read: Read) -> tuple[float, float]:
        """Map units farther from the start than ever before, and whether this square is new."""
        x, y = read("POSITION_X"), read("POSITION_Y")
        distance = math.hypot(x - self._start[0], y - self._start[1])
        farther = max(0.0, distance - self._farthest)
        self._farthest += farther
        square = _square(x, y)
        entered = float(square not in self._squares)
        self._squares.add(square)
        return farther, entered


def _square(x: float, y: float) -> tuple[int, int]:
    return math.floor(x / _SQUARE), math.floor(y / _SQUARE)
