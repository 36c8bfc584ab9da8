"""The state of MiniGrid's and BabyAI's envs: the grid, what lies in it, and what the mission asks for.

These envs are small webs of objects (a door is in the grid, in the list of its room's doors and in the
mission's instruction), so a state lists every object once and refers to it by number. Only classes of
MiniGrid itself that are already loaded are made again.
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np

_PACKAGE = "minigrid."
_ENV = -1  # the number that refers to the env itself
# These never change, or are carried elsewhere.
_KEPT = (gym.Space, np.random.Generator, type, gym.envs.registration.EnvSpec)


class GridState:
    """The state of one env, for `envs/states.py`."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def get_state(self) -> dict[str, Any]:
        writer = _Writer(self._env)
        attributes = {
            name: writer.value(value) for name, value in vars(self._env).items() if not _is_kept(name, value)
        }
        return {"attributes": attributes, "objects": writer.objects}

    def set_state(self, state: dict[str, Any]) -> None:
        reader = _Reader(self._env, state["objects"])
        for name, value in state["attributes"].items():
            setattr(self._env, name, reader.value(value))


def _is_kept(name: str, value: Any) -> bool:
    return name in ("window", "clock") or isinstance(value, _KEPT) or callable(value)


class _Writer:
    """Values with references in place of objects; `objects` are [class or container, contents]."""

    def __init__(self, env: Any) -> None:
        self.objects: list[list[Any]] = []
        self._numbers = {id(env): _ENV}

    def value(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.value(item) for item in value)
        is_object = type(value).__module__.startswith(_PACKAGE)
        if not (is_object or isinstance(value, list | dict | set)):
            return value
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.objects)
            entry: list[Any] = ["", None]
            self.objects.append(entry)  # before its contents, which may refer to it
            if is_object:
                kind = type(value)
                entry[:] = [f"{kind.__module__}:{kind.__qualname__}", self._pairs(vars(value))]
            elif isinstance(value, dict):
                entry[:] = ["dict", self._pairs(value)]
            else:
                items = sorted(value) if isinstance(value, set) else value
                entry[:] = [type(value).__name__, [self.value(item) for item in items]]
        return {"object": self._numbers[id(value)]}

    def _pairs(self, values: dict[Any, Any]) -> list[Any]:
        return [[key, self.value(item)] for key, item in values.items() if not callable(item)]


class _Reader:
    """The objects of a state, made again."""

    def __init__(self, env: Any, written: list[list[Any]]) -> None:
        self._env = env
        self._objects = [_empty(kind) for kind, _ in written]
        for made, (_, contents) in zip(self._objects, written, strict=True):
            if isinstance(made, list):
                made.extend(self.value(item) for item in contents)
            elif isinstance(made, set):
                made.update(self.value(item) for item in contents)
            else:
                values = made if isinstance(made, dict) else vars(made)
                values.update((key, self.value(item)) for key, item in contents)

    def value(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.value(item) for item in value)
        if isinstance(value, dict):
            number = value["object"]
            return self._env if number == _ENV else self._objects[number]
        return value


def _empty(kind: str) -> Any:
    if kind in ("list", "dict", "set"):
        return {"list": list, "dict": dict, "set": set}[kind]()
    module, _, name = kind.partition(":")
    loaded = sys.modules.get(module) if module.startswith(_PACKAGE) else None
    created: Any = None if loaded is None else vars(loaded).get(name)
    if not isinstance(created, type) or created.__module__ != module:
        raise ValueError(f"{kind} is not a loaded class of MiniGrid")
    return object.__new__(created)
