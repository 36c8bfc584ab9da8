"""Observations of the things in a game: where they are, how fast, whether they are there, read from RAM.

A table (`tables.py`) says which bytes of a game's RAM hold what. From it come, for each axis of a thing, its
position and its speed since the last step, both about -1 to 1, and for things that come and go a flag. What
is not there has position and speed 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

_FORESIGHT = 100  # steps; what takes longer hardly comes
JUMP = 3.0  # times as far as what counts as fast: something was put elsewhere, as after a point; no speed


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of a thing, in pixels of the screen: offset + byte, or offset - byte if `upwards`."""

    name: str
    byte: int
    offset: int
    low: int
    high: int
    speed: float | None = 4.0  # pixels a frame that count as fast; None: always the same, so nothing to see
    upwards: bool = False

    def pixel(self, value: int) -> int:
        """Where on the screen a value of the byte means."""
        return self.offset - value if self.upwards else self.offset + value


@dataclass(frozen=True, slots=True)
class Thing:
    """Something on the screen."""

    name: str
    axes: tuple[Axis, ...]
    # (byte, value): the thing is not there while the byte has the value. None: it is always there.
    hidden: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A byte that counts something, from `low` to `high`."""

    name: str
    byte: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Bits:
    """A field of things that are either there or not, each a bit of RAM (byte, bit), row by row."""

    name: str
    places: tuple[tuple[int, int], ...]
    columns: int

    @property
    def names(self) -> list[str]:
        return [
            f"{self.name} {i // self.columns + 1}.{i % self.columns + 1}" for i in range(len(self.places))
        ]


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one thing's coordinate is past another's, where that decides: -1 to 1 within `near` pixels.

    A few pixels between ball and paddle are what a game is about, and hardly anything of a screen's height.
    """

    of: tuple[str, str]  # a thing and its axis
    to: tuple[str, str]
    middle: int  # pixels between the two positions when both things are level
    near: int

    @property
    def name(self) -> str:
        return f"{self.of[0]} from {self.to[0]} {self.of[1]}"


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a thing that comes nearer will reach a line, as long as nothing but two walls turns it.

    Whoever waits there has to know it long before, and a network finds it hard to follow several bounces.
    It is shown as a position, and as a distance from the one who waits; both are 0 while it does not come.
    """

    of: str
    along: str  # the axis on which it comes nearer
    across: str  # the axis on which it is turned
    line: int  # pixel of `along`, at its upper end
    walls: tuple[int, int]  # pixels of `across`
    to: tuple[str, str]
    middle: int  # as of a distance
    near: int

    @property
    def names(self) -> tuple[str, str]:
        return f"{self.of} arrives {self.across}", f"{self.of} arrives from {self.to[0]} {self.across}"


@dataclass(frozen=True, slots=True)
class Table:
    """What a game's RAM holds."""

    things: tuple[Thing, ...]
    distances: tuple[Distance, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    numbers: tuple[Number, ...] = ()
    bits: tuple[Bits, ...] = ()


class Objects:
    """The observations of one game, step by step."""

    def __init__(self, table: Table, frame_skip: int) -> None:
        axes = [(thing, axis) for thing in table.things for axis in thing.axes]
        coming = [thing for thing in table.things if thing.hidden is not None]
        moving = [index for index, (_, axis) in enumerate(axes) if axis.speed is not None]
        places = [place for bits in table.bits for place in bits.places]
        self.names = tuple(
            [f"{thing.name} {axis.name}" for thing, axis in axes]
            + [f"{axes[i][0].name} {axes[i][1].name} speed" for i in moving]
            + [distance.name for distance in table.distances]
            + [name for crossing in table.crossings for name in crossing.names]
            + [f"{thing.name} is there" for thing in coming]
            + [number.name for number in table.numbers]
            + [name for bits in table.bits for name in bits.names]
        )
        self.space = gym.spaces.Box(-np.inf, np.inf, (len(self.names),), np.float32)
        # As (byte, value that is -1, value that is 1); of an axis that counts upwards the former is greater.
        read = [(axis.byte, *_values_at_ends(axis)) for _, axis in axes]
        read += [(number.byte, number.low, number.high) for number in table.numbers]
        self._bytes = np.array([byte for byte, _, _ in read], np.intp)
        self._scale = np.array([2.0 / (high - low) for _, low, high in read], np.float32)
        self._shift = np.array([-(high + low) / (high - low) for _, low, high in read], np.float32)
        self._n_axes, self._moving = len(axes), np.array(moving, np.intp)
        # From a difference of positions to pixels a frame, over what counts as fast.
        fast = [axis.speed * frame_skip for _, axis in axes if axis.speed is not None]
        self._per_speed = 1.0 / (np.abs(self._scale[self._moving]) * np.array(fast, np.float32))
        # A distance is a weighted difference of two positions, each -1 to 1 over a range of its own.
        at = {(thing.name, axis.name): index for index, (thing, axis) in enumerate(axes)}
        self._of = np.array([at[distance.of] for distance in table.distances], np.intp)
        self._to = np.array([at[distance.to] for distance in table.distances], np.intp)
        middles = np.array([(axis.low + axis.high) / 2 for _, axis in axes], np.float32)
        halves = np.array([(axis.high - axis.low) / 2 for _, axis in axes], np.float32)
        near = np.array([distance.near for distance in table.distances], np.float32)
        level = np.array([distance.middle for distance in table.distances], np.float32)
        self._of_weight, self._to_weight = halves[self._of] / near, halves[self._to] / near
        self._distance_shift = (middles[self._of] - middles[self._to] - level) / near
        self._crossings = [_Foreseen(crossing, axes, at) for crossing in table.crossings]
        self._flags = np.array([coming.index(thing) if thing in coming else -1 for thing, _ in axes], np.intp)
        self._hidden_bytes = np.array([thing.hidden[0] for thing in coming if thing.hidden], np.intp)
        self._hidden_values = np.array([thing.hidden[1] for thing in coming if thing.hidden], np.uint8)
        self._bit_bytes = np.array([byte for byte, _ in places], np.intp)
        self._bit_masks = np.array([1 << bit for _, bit in places], np.uint8)
        self._last = np.zeros(len(axes), np.float32)  # positions a step ago
        self._was_there = np.zeros(len(axes), np.bool_)

    def begin(self, ram: np.ndarray) -> np.ndarray:
        """The first observation of a game, in which nothing has moved yet."""
        self._was_there[:] = False
        return self.next(ram)

    def next(self, ram: np.ndarray) -> np.ndarray:
        """What is seen now [D] float32, a step after the last."""
        a, flags = self._n_axes, len(self._hidden_bytes)
        m = a + len(self._moving)
        d = m + len(self._of)
        c = d + 2 * len(self._crossings)
        seen = np.zeros(len(self.names), np.float32)
        values = ram[self._bytes] * self._scale
        values += self._shift
        if flags:
            there = ram[self._hidden_bytes] != self._hidden_values
            seen[c : c + flags] = there
            is_there = np.append(there, True)[self._flags]  # -1, the last: always
        else:
            is_there = np.ones(a, np.bool_)
        position = values[:a]
        np.copyto(seen[:a], position, where=is_there)
        moved = (position - self._last)[self._moving] * self._per_speed
        followed = (is_there & self._was_there)[self._moving]
        followed &= np.abs(moved) < JUMP
        np.copyto(seen[a:m], moved, where=followed)
        if d > m:
            apart = position[self._of] * self._of_weight - position[self._to] * self._to_weight
            apart += self._distance_shift
            both = is_there[self._of] & is_there[self._to]
            np.copyto(seen[m:d], np.clip(apart, -1.0, 1.0), where=both)
        for number, crossing in enumerate(self._crossings):
            if is_there[crossing.along] and self._was_there[crossing.along] and is_there[crossing.to]:
                seen[d + 2 * number : d + 2 * number + 2] = crossing.seen(position, self._last)
        self._last, self._was_there = position, is_there
        rest = c + flags
        numbers = len(values) - a
        seen[rest : rest + numbers] = values[a:]
        if len(self._bit_bytes):
            seen[rest + numbers :] = (ram[self._bit_bytes] & self._bit_masks) != 0
        return seen

    def get_state(self) -> dict[str, Any]:
        return {"last": self._last.tolist(), "was_there": self._was_there.tolist()}

    def set_state(self, state: dict[str, Any]) -> None:
        self._last = np.array(state["last"], np.float32)
        self._was_there = np.array(state["was_there"], np.bool_)


class _Foreseen:
    """A crossing, from positions that are -1 to 1 over each axis."""

    def __init__(
        self, crossing: Crossing, axes: list[tuple[Thing, Axis]], at: dict[tuple[str, str], int]
    ) -> None:
        self.along, self.to = at[crossing.of, crossing.along], at[crossing.to]
        self._across = at[crossing.of, crossing.across]
        along, across, to = (axes[index][1] for index in (self.along, self._across, self.to))
        self._middle, self._half = (across.low + across.high) / 2, (across.high - across.low) / 2
        self._to_middle, self._to_half = (to.low + to.high) / 2 + crossing.middle, (to.high - to.low) / 2
        self._line = (crossing.line - along.low) / (along.high - along.low) * 2 - 1
        self._low, self._span = crossing.walls[0], crossing.walls[1] - crossing.walls[0]
        self._near = crossing.near

    def seen(self, position: np.ndarray, last: np.ndarray) -> tuple[float, float]:
        """Where it will be at the line, and how far from the one who waits."""
        along = float(position[self.along])
        nearer = along - float(last[self.along])
        left = max(0.0, self._line - along)
        if nearer <= 0.0 or left > _FORESIGHT * nearer:
            return 0.0, 0.0
        steps = left / nearer
        across = float(position[self._across])
        ahead = self._middle + self._half * (across + steps * (across - float(last[self._across])))
        turned = (ahead - self._low) % (2 * self._span)
        pixel = self._low + min(turned, 2 * self._span - turned)
        apart = (pixel - self._to_middle - self._to_half * float(position[self.to])) / self._near
        return (pixel - self._middle) / self._half, min(max(apart, -1.0), 1.0)


def _values_at_ends(axis: Axis) -> tuple[int, int]:
    """The byte's values at the least and the greatest pixel."""
    if axis.upwards:
        return axis.offset - axis.low, axis.offset - axis.high
    return axis.low - axis.offset, axis.high - axis.offset
