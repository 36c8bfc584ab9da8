"""The settings of a run that differ from the defaults, and from its preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticUndefined

from gymnast.config.fields import default_of, leaf_keys
from gymnast.config.files import config_folders, names_in, split_reference
from gymnast.config.load import load_config
from gymnast.config.values import Section
from gymnast.errors import GymnastError
from gymnast.redact import redacted

# What describes an env to people and changes nothing.
_WORDS = {"env.id", "env.spec.action_labels", "env.spec.observation_names", "env.spec.description"}
_MOST = 500  # settings; a config has about 200
_MISSING = object()


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """One setting that is not what it would be by itself."""

    key: str  # dotted
    value: Any
    default: Any  # None too where the schema does not know the key
    preset: Any = None
    of_preset: bool = True  # whether the preset has the same value, or there is no preset


def changed_settings(data: Mapping[str, Any], preset: Mapping[str, Any] | None) -> list[ChangedSetting]:
    """In the schema's order; `data` and `preset` are whole configs as nested maps, secrets hidden here."""
    data = redacted(dict(data))
    preset = None if preset is None else redacted(dict(preset))
    try:
        paths = list(leaf_keys(data=data))
    except (AttributeError, TypeError, KeyError):  # a config that was edited into another shape
        paths = []
    found: list[ChangedSetting] = []
    for path in paths:
        key, value = ".".join(path), _at(data, path)
        if key in _WORDS or value is _MISSING:
            continue
        default, given = _plain(default_of(path, data)), _MISSING if preset is None else _at(preset, path)
        value = _plain(value)
        of_preset = given is _MISSING or _plain(given) == value
        if value != default or not of_preset:
            found.append(ChangedSetting(key, value, default, None if of_preset else _plain(given), of_preset))
    return found[:_MOST]


def preset_data(name: str) -> dict[str, Any] | None:
    """The settings of the preset that a run is named after; None if there is none such here.

    The name comes from a run folder: it may name a preset, and never a file.
    """
    own, _ = split_reference(name)
    try:
        if own not in names_in(config_folders()):
            return None
        return load_config(name).config.model_dump()
    except GymnastError:
        return None


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if not isinstance(data, Mapping) or part not in data:
            return _MISSING
        data = data[part]
    return data


def _plain(value: Any) -> Any:
    """As a config file would have it: sections as maps, tuples as lists."""
    if isinstance(value, Section):
        return _plain(value.model_dump())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if value is PydanticUndefined else value
