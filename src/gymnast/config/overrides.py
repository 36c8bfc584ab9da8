"""Settings from the command line (`algo.lr=1e-3`) or from Python, laid over a config's layers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gymnast.config.fields import Keys, default_of, dotted, is_schedule
from gymnast.config.merge import Layer, Merged
from gymnast.config.reading import parse_yaml
from gymnast.config.values import Section
from gymnast.errors import GymnastError

Overrides = Mapping[str, Any] | Sequence[str]
Override = tuple[tuple[str, ...], Any]

COMMAND_LINE = "command line"
FROM_PYTHON = "overrides"
# A changed one empties the map beside it.
_NAMES = (
    ("algo", "name"),
    ("algo", "optimizer", "name"),
    ("explore",),
    ("explore", "name"),
    ("explore", "cells"),
    ("explore", "cells", "name"),
)


def apply_overrides(merged: Merged, overrides: Overrides) -> None:
    """Lay the overrides over everything else, a changed name first: it empties the old map."""
    label, pairs = _read(overrides)
    for path, value in sorted(pairs, key=lambda pair: len(pair[0]) if pair[0] in _NAMES else 99):
        path, value = _whole_list(merged, path, value, label)
        for depth in range(1, len(path)):
            _open_map(merged, path[:depth], path, label)
        if (
            isinstance(value, dict)
            and is_schedule(path, merged.data)
            and not {"start", "points"} & set(value)
        ):
            _open_map(merged, path, path, label)  # {end: 0} sets where a number ends, as algo.lr.end=0 does
        merged.add(Layer(_nest(path, value), label))


def overridden(overrides: Overrides, section: str) -> dict[str, Any]:
    """What the overrides alone set in one section, not yet checked."""
    label, pairs = _read(overrides)
    merged = Merged()
    for path, value in pairs:
        if path[0] == section:
            merged.add(Layer(_nest(path, value), label))
    found = merged.data.get(section)
    return found if isinstance(found, dict) else {}


def texts_in(overrides: Overrides) -> Iterator[str]:
    """Every text among the values that the overrides set, such as an import path."""
    pending: list[Any] = [value for _, value in _read(overrides)[1]]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Section):
            pending.append(value.model_dump())
        elif isinstance(value, (Mapping, list, tuple)):
            pending += value.values() if isinstance(value, Mapping) else value


def _read(overrides: Overrides) -> tuple[str, list[Override]]:
    if isinstance(overrides, str):
        overrides = [overrides]
    if isinstance(overrides, Mapping):
        return FROM_PYTHON, list(_flatten(overrides))
    return COMMAND_LINE, [parse_override(text) for text in overrides]


def parse_override(text: str) -> Override:
    """'algo.lr=1e-3' → (('algo', 'lr'), 0.001); the value is YAML, with Python's None for null: W&B's agent
    writes values as Python does."""
    key, equals, value = text.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path):
        raise GymnastError(f"{COMMAND_LINE}: {text!r} is not an override; write key=value, e.g. algo.lr=1e-3")
    return path, _without_none(parse_yaml(value, f"{COMMAND_LINE}: {key}"))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_without_none(inside) for inside in value]
    return None if value == "None" else value


def _flatten(overrides: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> list[Override]:
    pairs: list[Override] = []
    for key, value in overrides.items():
        path = (*prefix, *str(key).split("."))
        if isinstance(value, Section):
            value = value.model_dump()
        if isinstance(value, Mapping) and len(path) == 1:
            pairs += _flatten(value, path)
        else:
            pairs.append((path, dict(value) if isinstance(value, Mapping) else value))
    return pairs


def _whole_list(merged: Merged, path: tuple[str, ...], value: Any, label: str) -> Override:
    """`env.mix.0.weight=3` as the list it changes an entry of; any other override as it is."""
    for depth in range(1, len(path) - 1):
        known = merged.value(path[:depth])
        if not isinstance(known, (list, tuple)) or not path[depth].isdigit():
            continue
        entries, index, inside = copy.deepcopy(list(known)), int(path[depth]), path[depth + 1 :]
        if index >= len(entries):
            there = f"0 to {len(entries) - 1}" if len(entries) > 1 else "0" if entries else "none"
            raise GymnastError(
                f"{label}: {dotted(path)}: {dotted(path[:depth])} has no entry {index}; there are {there}"
            )
        if isinstance(entries[index], str):
            entries[index] = {"name": entries[index]}  # as a wrapper may be written
        node = entries[index]
        for key in inside[:-1]:
            node = node.setdefault(key, {}) if isinstance(node, dict) else None
        if not isinstance(node, dict):
            raise GymnastError(
                f"{label}: {dotted(path)}: {dotted(path[:-1])} is a single value, with no keys inside"
            )
        node[inside[-1]] = value
        return path[:depth], entries
    return path, value


def _nest(path: Keys, value: Any) -> dict[str, Any]:
    for key in reversed(path):
        value = {key: value}
    return value


def _open_map(merged: Merged, parent: Keys, path: Keys, label: str) -> None:
    """Make what `path` goes into a map: `algo.lr.end=0` turns the number into a schedule from it."""
    value = merged.value(parent)
    if value is None and is_schedule(parent, merged.data):
        value = default_of(parent, merged.data)
    if value is None or isinstance(value, dict):
        return
    if is_schedule(parent, merged.data):
        merged.add(
            Layer(
                _nest(parent, {"points": value} if isinstance(value, (list, tuple)) else {"start": value}),
                _label_of(merged, parent),
            )
        )
        return
    if isinstance(value, (list, tuple)):
        raise GymnastError(
            f"{label}: {dotted(path)}: a list is replaced as a whole; write {dotted(parent)}=[…]"
            f"{_entry_hint(parent, value)}"
        )
    raise GymnastError(
        f"{label}: {dotted(path)}: {dotted(parent)} is a single value, {value!r}, with no keys inside"
    )


def _label_of(merged: Merged, path: Keys) -> str:
    origin = merged.origin(path)
    return "default" if origin is None else origin.label


def _entry_hint(parent: Keys, entries: Sequence[Any]) -> str:
    """What can be set in a list of maps."""
    return f", or {dotted(parent)}.0.key=…" if any(isinstance(entry, Mapping) for entry in entries) else ""
