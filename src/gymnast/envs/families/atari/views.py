"""What an agent sees of a single game: pixels as ale-py's vectorised games show them, RAM, or things."""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from gymnast.envs.families.atari.objects import Objects
from gymnast.envs.families.atari.resize import AreaResize
from gymnast.envs.families.atari.settings import AtariConfig
from gymnast.envs.families.atari.tables import table_of

RAM_BYTES = 128


class View(Protocol):
    """One way to look at a game."""

    @property
    def space(self) -> gym.Space[Any]: ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Of the components, where they have any."""

    def begin(self) -> np.ndarray:
        """The first observation of a game."""

    def frame(self, before_last: int) -> None:
        """A frame of a step was played, so many before its last."""

    def next(self) -> np.ndarray:
        """The observation after a step."""

    def get_state(self) -> dict[str, Any]: ...

    def set_state(self, state: dict[str, Any]) -> None: ...


def make_view(env_id: str, rom: str, atari: AtariConfig, ale: Any, screen: tuple[int, int]) -> View:
    """The view that the settings ask for, of the game that `ale` plays."""
    if atari.obs == "pixels":
        return Pixels(atari, ale, screen)
    if atari.obs == "ram":
        return Ram(ale)
    return Things(Objects(table_of(env_id, rom), atari.frame_skip), ale)


class Pixels:
    """The screen, as `ALEVectorInterface` makes it: frames that a game's end cut off are not looked at."""

    names = None

    def __init__(self, atari: AtariConfig, ale: Any, screen: tuple[int, int]) -> None:
        channels = () if atari.grayscale else (3,)
        self.space = gym.spaces.Box(0, 255, (atari.stack, *atari.size, *channels), np.uint8)
        self._read = ale.getScreenGrayscale if atari.grayscale else ale.getScreenRGB
        self._resize = AreaResize(screen, atari.size)
        self._max_pool = atari.max_pool
        self._raw = np.zeros((2, *screen, *channels), np.uint8)  # the last frame and the one before it
        self._stack = np.zeros(self.space.shape, np.uint8)

    def begin(self) -> np.ndarray:
        self._stack[:] = 0
        self._raw[1] = 0
        self._read(self._raw[0])
        return self.next()

    def frame(self, before_last: int) -> None:
        if before_last < 2:
            self._read(self._raw[before_last])

    def next(self) -> np.ndarray:
        if self._max_pool:
            np.maximum(self._raw[0], self._raw[1], out=self._raw[0])
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._resize(self._raw[0])
        return self._stack.copy()

    def get_state(self) -> dict[str, Any]:
        return {"raw": self._raw, "stack": self._stack}

    def set_state(self, state: dict[str, Any]) -> None:
        self._raw[...] = state["raw"]
        self._stack[...] = state["stack"]


class Ram:
    """The 128 bytes of memory."""

    names = tuple(f"ram {byte}" for byte in range(RAM_BYTES))

    def __init__(self, ale: Any) -> None:
        self.space = gym.spaces.Box(0, 255, (RAM_BYTES,), np.uint8)
        self._read = ale.getRAM

    def begin(self) -> np.ndarray:
        return self.next()

    def frame(self, before_last: int) -> None:
        """Only the last counts."""

    def next(self) -> np.ndarray:
        return np.asarray(self._read())

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """There is none beside the emulator's."""


class Things:
    """Positions and speeds of what is on the screen."""

    def __init__(self, objects: Objects, ale: Any) -> None:
        self.space, self.names = objects.space, objects.names
        self._objects = objects
        self._read = ale.getRAM
        self._ram = np.zeros(RAM_BYTES, np.uint8)

    def begin(self) -> np.ndarray:
        self._read(self._ram)
        return self._objects.begin(self._ram)

    def frame(self, before_last: int) -> None:
        """Speeds are of whole steps."""

    def next(self) -> np.ndarray:
        self._read(self._ram)
        return self._objects.next(self._ram)

    def get_state(self) -> dict[str, Any]:
        return {"objects": self._objects.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        self._objects.set_state(state["objects"])
