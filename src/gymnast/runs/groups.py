"""Runs in groups that differ only in their seeds: which run belongs where, and what the group is called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnast.errors import GymnastError, cut, did_you_mean
from gymnast.runs.registry import RunEntry

AUTO = "auto"
_OF_THE_RUN = ("env", "variant", "algo", "name")  # keys of a run that are no settings


@dataclass(frozen=True, slots=True)
class Grouping:
    """One group: the settings that its runs share, and which runs these are."""

    name: str
    settings: dict[str, Any]
    members: tuple[int, ...]  # places in the sequence of runs


def grouped(group_by: str, entries: Sequence[RunEntry], settings: Sequence[dict[str, Any]]) -> list[Grouping]:
    """The groups in the order of their first runs.

    group_by: settings with commas between them (a whole section is one too), or `auto`: whatever differs
    between runs of one env, but the seed.
    """
    if group_by == AUTO:
        keys = [key for key in differing_within_an_env(entries, settings) if not is_seed(key)]
    else:
        named = [key.strip() for key in group_by.split(",") if key.strip()]
        if not named:
            raise GymnastError(f"--group-by takes settings or {AUTO}: --group-by algo.name,algo.lr")
        keys = [key for name in named for key in _matching(name, settings)]
    values = [_values(keys, entry, one) for entry, one in zip(entries, settings, strict=True)]
    members: dict[str, list[int]] = {}
    for place, own in enumerate(values):
        members.setdefault(as_text(own), []).append(place)
    shown = [key for key in keys if len({as_text(own[key]) for own in values}) > 1] or keys[:1]
    groups = [(values[places[0]], places) for places in members.values()]
    return [
        Grouping(_name({key: own[key] for key in shown}), dict(own), tuple(places)) for own, places in groups
    ]


def _name(shown: dict[str, Any]) -> str:
    return ", ".join(f"{key}={cut(as_shown(value))}" for key, value in shown.items()) or "all runs"


def _values(keys: list[str], entry: RunEntry, settings: dict[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {"env": entry.env, "variant": entry.variant, "algo": entry.algo, "name": entry.name}
    return {key: own[key] if key in own else settings.get(key) for key in keys}


def _matching(name: str, settings: Sequence[dict[str, Any]]) -> list[str]:
    """The keys that a name means: itself, or all of a section."""
    known = _all_keys(settings)
    if name in known or name in _OF_THE_RUN:
        return [name]
    inside = [key for key in known if key.startswith(f"{name}.")]
    if not inside:
        ends = [key for key in known if key.endswith(f".{name}")]
        hint = f" (did you mean {ends[0]!r}?)" if ends else did_you_mean(name, [*known, *_OF_THE_RUN])
        raise GymnastError(f"--group-by: these runs have no setting {name!r}{hint}")
    return inside


def with_equal_keys(settings: Sequence[dict[str, Any] | None]) -> list[dict[str, Any] | None]:
    """The same settings, under the same keys: one that is a number in some runs and a section in others, as a
    schedule is, is one setting in all of them."""
    known = {key for one in settings for key in one or ()}
    split = {start for key in known for start in _starts(key) if start in known}
    if not split:
        return list(settings)
    return [None if one is None else _joined(one, split) for one in settings]


def _joined(settings: dict[str, Any], split: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        whole = next((start for start in _starts(key) if start in split), None)
        if whole is None:
            found[key] = value
            continue
        *sections, last = key.removeprefix(f"{whole}.").split(".")
        inside = found.setdefault(whole, {})
        for section in sections:
            inside = inside.setdefault(section, {})
        inside[last] = value
    return found


def _starts(key: str) -> list[str]:
    """a.b.c → a, a.b"""
    return [key[:place] for place, char in enumerate(key) if char == "."]


def differing_within_an_env(entries: Sequence[RunEntry], settings: Sequence[dict[str, Any]]) -> list[str]:
    """What differs only between envs belongs to their presets."""
    found: dict[str, None] = {}
    for env in dict.fromkeys(entry.env for entry in entries):
        own = [one for entry, one in zip(entries, settings, strict=True) if entry.env == env]
        keys = _all_keys(own)
        found |= dict.fromkeys(key for key in keys if len({as_text(one.get(key)) for one in own}) > 1)
    return list(found)


def _all_keys(settings: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for one in settings for key in one))


def is_seed(key: str) -> bool:
    return key == "seed" or key.endswith(".seed")


def as_text(value: Any) -> str:
    """Equal for equal values, of whatever kind."""
    return json.dumps(value, sort_keys=True, default=str)


def as_shown(value: Any) -> str:
    """A setting as a config has it."""
    from gymnast.config.dump import flow

    return "none" if value is None else flow(value)
