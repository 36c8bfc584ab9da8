"""Settings of a run, and what the schema knows of them: defaults, choices, what a recording may change.

The settings are those that a config file says. Nothing that they name is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

from gymnast.config.fields import default_of, section_at
from gymnast.config.values import Section
from gymnast.envs.families.table import FAMILY_SETTINGS, family_of

# Of the env's settings, those that say how copies are stepped; one env is recorded, in one process.
_STEPPING = (
    *("n_envs", "groups", "backend", "workers", "actors", "restarts"),
    *("mix", "task_input", "task_heads"),
)
# What would change the policy's inputs or outputs, names a file, or counts in training alone.
_FIXED = ("id", "actions", "wrappers", "action_masks", "spec")
_FIXED_IN_FAMILIES = (
    *("obs", "grayscale", "size", "stack", "full_actions", "threads", "resolution", "resize", "variables"),
    *("buttons", "max_pressed", "wad", "rewards", "crop", "hide", "scenario", "own_reward", "level", "lives"),
    *("episodic_life", "episodic_point", "clip_reward", "end_on_life"),
)
_FIXED_ARGUMENTS = ("render_mode", "continuous", "xml_file", "exclude_current_positions_from_observation")


@dataclass(frozen=True, slots=True)
class EnvOption:
    """A setting of the env that a recording may change."""

    key: str  # dotted
    value: Any
    choices: tuple[Any, ...] | None
    help: str

    def to_json(self) -> dict[str, Any]:
        choices = None if self.choices is None else list(self.choices)
        return {"key": self.key, "value": self.value, "choices": choices, "help": self.help}


def changed_settings(settings: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Value and default, by dotted key, of settings that are not at their default."""
    nested = _nested(settings)
    changed: dict[str, tuple[Any, Any]] = {}
    for key, value in settings.items():
        path = tuple(key.split("."))
        parent = section_at(path[:-1], nested)
        if parent is None or path[-1] not in parent.model_fields:
            continue  # within a free map: what holds it has no default for it
        default = _plain(default_of(path, nested))
        if _plain(value) != default:
            changed[key] = (value, default)
    return changed


def task_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The tasks of a mix by name; those without a name of their own are named as training names them."""
    from pydantic import ValidationError

    from gymnast.envs.settings import EnvConfig

    if not isinstance(settings.get("env.mix"), list):
        return ()
    try:
        env = EnvConfig.model_validate(_nested(settings)["env"])
        return tuple(task.name for task in env.tasks)
    except (ValidationError, KeyError, ValueError):
        return ()


def env_options(settings: Mapping[str, Any]) -> tuple[EnvOption, ...]:
    """What may be changed when the run's env is recorded: its arguments, level, difficulty, physics."""
    env_id = settings.get("env.id")
    if not isinstance(env_id, str) or not env_id:
        return ()
    nested = _nested(settings)
    return (*_arguments(env_id, settings), *_section_options(env_id, nested))


def _section_options(env_id: str, nested: dict[str, Any]) -> Iterator[EnvOption]:
    takes = family_of(env_id).takes
    env = section_at(("env",), nested)
    assert env is not None
    for name in env.model_fields:
        if name in (*_STEPPING, *_FIXED, "kwargs") or (name in FAMILY_SETTINGS and name not in takes):
            continue
        section = section_at(("env", name), nested)
        if section is None:
            yield _option(env, name, f"env.{name}", nested)
        else:
            for inner in section.model_fields:
                if inner not in _FIXED_IN_FAMILIES:
                    yield _option(section, inner, f"env.{name}.{inner}", nested)


def _option(section: type[Section], name: str, key: str, nested: dict[str, Any]) -> EnvOption:
    known: Any = nested
    for part in key.split("."):
        known = known.get(part) if isinstance(known, Mapping) else None
    field = section.model_fields[name]
    value = known if known is not None else _plain(default_of(tuple(key.split(".")), nested))
    return EnvOption(key, value, _choices(field.annotation, field.metadata), field.description or "")


def _choices(annotation: Any, metadata: list[Any]) -> tuple[Any, ...] | None:
    """Of a setting that has few values."""
    if annotation is bool:
        return (False, True)
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    low = next((m.ge for m in metadata if hasattr(m, "ge")), None)
    high = next((m.le for m in metadata if hasattr(m, "le")), None)
    kinds = set(get_args(annotation)) or {annotation}
    if kinds == {bool, type(None)}:
        return (None, False, True)
    if isinstance(low, int) and isinstance(high, int) and high - low < 20 and kinds <= {int, type(None)}:
        return (*((None,) if type(None) in kinds else ()), *range(low, high + 1))
    return None


def _arguments(env_id: str, settings: Mapping[str, Any]) -> Iterator[EnvOption]:
    """The env's own arguments: those that the run sets, and those that a class of Gymnasium's takes."""
    start = "env.kwargs."
    own = {key.removeprefix(start): value for key, value in settings.items() if key.startswith(start)}
    known = dict(_signature(env_id))
    for name in (*known, *(name for name in own if name not in known)):
        default, choices = known.get(name, (None, None))
        yield EnvOption(f"{start}{name}", own.get(name, default), choices, "")


@lru_cache(maxsize=64)
def _signature(env_id: str) -> tuple[tuple[str, tuple[Any, tuple[Any, ...] | None]], ...]:
    """Arguments with a plain default, of envs that come with Gymnasium; others are not imported to look."""
    import gymnasium as gym

    spec = gym.registry.get(env_id)
    entry_point = None if spec is None else spec.entry_point
    if spec is None or not isinstance(entry_point, str) or not entry_point.startswith("gymnasium.envs."):
        return ()
    try:
        from gymnasium.envs.registration import load_env_creator

        parameters = inspect.signature(load_env_creator(entry_point)).parameters.values()
    except Exception:  # a library that is not installed
        return ()
    found = []
    for parameter in parameters:
        default = spec.kwargs.get(parameter.name, parameter.default)
        if parameter.name in _FIXED_ARGUMENTS or not isinstance(default, bool | int | float | str):
            continue
        found.append((parameter.name, (default, (False, True) if isinstance(default, bool) else None)))
    return tuple(found)


def _nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in settings.items():
        *parents, last = key.split(".")
        node = nested
        for part in parents:
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        node[last] = value
    return nested


def _plain(value: Any) -> Any:
    """As a config file would write it."""
    if isinstance(value, Section):
        return _plain(value.model_dump())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
