"""What the schema knows about a dotted key: its section, the keys beside it, its default."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from gymnast.config.schedules import Schedule
from gymnast.config.schema import Config
from gymnast.config.values import Section

Keys = tuple[str | int, ...]


def dotted(path: Sequence[str | int]) -> str:
    """('env', 'wrappers', 0, 'name') → 'env.wrappers[0].name'."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def sections_in(annotation: Any) -> list[type[Section]]:
    """The section models that a field's type names, through unions, tuples and annotations."""
    if inspect.isclass(annotation) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]


def section_at(path: Keys, data: Any) -> type[Section] | None:
    """The model of the map at `path`; `data` decides between the members of a union by `name`."""
    model: type[Section] = Config
    names_entry = False  # whether the next part is a name that the user chose
    for part in path:
        if isinstance(part, int):
            data = data[part] if isinstance(data, (list, tuple)) and part < len(data) else None
            continue
        data = data.get(part) if isinstance(data, Mapping) else None
        if names_entry:
            names_entry = False
            continue
        if part not in model.model_fields:
            return None
        candidates = sections_in(model.model_fields[part].annotation)
        if not candidates:
            return None
        names_entry = is_map(model.model_fields[part].annotation)
        model = _choose(candidates, data)
    return None if names_entry else model


def is_map(annotation: Any) -> bool:
    """Whether a field's type is a map from names of the user's choice."""
    return get_origin(annotation) is dict


def _choose(candidates: list[type[Section]], data: Any) -> type[Section]:
    wanted = data.get("name") if isinstance(data, Mapping) else None
    for model in candidates:
        if (
            wanted is not None
            and "name" in model.model_fields
            and model.model_fields["name"].default == wanted
        ):
            return model
    return candidates[0]


def is_schedule(path: Keys, data: Any) -> bool:
    return section_at(path, data) is Schedule


def default_of(path: Keys, data: Any) -> Any:
    """The default of the key at `path`, as a config file would write it; None if it has none."""
    last = path[-1]
    parent = section_at(path[:-1], data)
    if parent is None or not isinstance(last, str) or last not in parent.model_fields:
        return None
    return parent.model_fields[last].get_default(call_default_factory=True, validated_data={})


def leaf_keys(
    model: type[Section] = Config, prefix: tuple[str, ...] = (), data: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, ...]]:
    """Every settable key of the schema; a schedule is one key.

    With `data`, only the keys of those members of a union that it names.
    """
    known: set[str] = set()
    for name, field in model.model_fields.items():
        nested = nested_sections(field.annotation)
        unset = data is not None and name in data and data[name] is None  # a section that may be left out
        if not nested or unset or "tuple" in str(field.annotation) or is_map(field.annotation):
            yield (*prefix, name)
            continue
        below = None if data is None else data.get(name) or {}
        chosen = nested if below is None else [_choose(nested, below)]
        for section in chosen:
            within = below if isinstance(below, Mapping) else None if below is None else {}
            for path in leaf_keys(section, (*prefix, name), within):
                if ".".join(path) not in known:  # members of a union share most of their keys
                    known.add(".".join(path))
                    yield path


def nested_sections(annotation: Any) -> list[type[Section]]:
    """The sections below a field; a schedule is a value, not a section."""
    return [section for section in sections_in(annotation) if section is not Schedule]
