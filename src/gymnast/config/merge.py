"""Merging config layers, remembering which layer each key came from.

Maps merge and lists replace. Some maps are replaced as a whole because the old keys would have no
meaning beside the new ones: `algo`, its `optimizer`, `explore` and its `cells` when their `name` changes,
and a schedule that is written in another form. A step budget in one unit replaces one in the other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnast.algorithms.table import DEFAULT_ALGO
from gymnast.config.fields import Keys

# Sections for which a name alone may be written: `explore: count` is short for `explore: {name: count}`
_NAME_ALONE: tuple[Keys, ...] = (("explore",), ("explore", "cells"))


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A map of settings from one place."""

    data: dict[str, Any]
    label: str  # for people: 'variant ppo', 'command line'
    file: Path | None = None
    prefix: Keys = ()  # where in the file the map is, to find its lines

    def line_key(self, path: Keys) -> Keys:
        return (*self.prefix, *path)


@dataclass(slots=True)
class Merged:
    """The settings of all layers so far, and the layer that last set each path."""

    data: dict[str, Any] = field(default_factory=dict)
    origins: dict[Keys, Layer] = field(default_factory=dict)

    def add(self, layer: Layer) -> None:
        self._merge(self.data, layer.data, (), layer)
        budget = layer.data.get("budget")
        if isinstance(budget, dict) and isinstance(self.data["budget"], dict):
            for unit, other in (("env_steps", "vec_steps"), ("vec_steps", "env_steps")):
                if budget.get(unit) is not None and other not in budget:
                    self.data["budget"].pop(other, None)
                    self.origins.pop(("budget", other), None)

    def _merge(self, into: dict[str, Any], new: dict[str, Any], path: Keys, layer: Layer) -> None:
        for key, value in new.items():
            here = (*path, key)
            old = into.get(key)
            self.origins[here] = layer
            if isinstance(value, str) and here in _NAME_ALONE:
                value = {"name": value}
            if isinstance(value, dict) and isinstance(old, dict) and not _replaces(here, old, value):
                self._merge(old, value, here, layer)
                continue
            self._forget_below(here)
            if isinstance(value, dict):
                into[key] = {}
                self._merge(into[key], value, here, layer)
            else:
                into[key] = copy.deepcopy(value)

    def _forget_below(self, path: Keys) -> None:
        for known in [p for p in self.origins if len(p) > len(path) and p[: len(path)] == path]:
            del self.origins[known]

    def origin(self, path: Keys) -> Layer | None:
        """The layer that set `path`, or the nearest map around it."""
        while path:
            if path in self.origins:
                return self.origins[path]
            path = path[:-1]
        return None

    def value(self, path: Keys) -> Any:
        data: Any = self.data
        for key in path:
            data = data.get(key) if isinstance(data, dict) else None
        return data


def _replaces(path: Keys, old: dict[str, Any], new: dict[str, Any]) -> bool:
    if path == ("algo",):
        return "name" in new and new["name"] != old.get("name", DEFAULT_ALGO)
    if path == ("algo", "optimizer") or path in _NAME_ALONE:
        return "name" in new and new["name"] != old.get("name")
    if len(path) == 2 and path[0] in ("algo", "explore") and ("start" in new or "points" in new):
        return _kind(new) != _kind(old) and _kind(new) is not None
    return False


def _kind(schedule: dict[str, Any]) -> Any:
    return schedule.get("kind", "points" if "points" in schedule else None)
