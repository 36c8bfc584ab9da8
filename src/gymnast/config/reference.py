"""docs/settings.md, written from the schema: `gymnast config keys --markdown`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from gymnast.config.fields import is_map, nested_sections
from gymnast.config.schedules import Schedule
from gymnast.config.schema import Config
from gymnast.config.values import Section

_INTRODUCTION = """\
# Settings

Generated from the settings classes by `gymnast config keys --markdown`; edit their descriptions there.

Every key may be set in a YAML file or on the command line (`gymnast train CartPole-v1:ppo algo.lr=1e-3`).
Counts may be written `300k`, `2M` or `1e6`, durations `90s`, `10m` or `2h`. An unknown key is an error.
"""

_SCHEDULES = """\
## Schedules

A setting marked *schedulable* takes a number, or a map that defines how it changes with the step budget:

```yaml
algo:
  lr: {kind: linear, start: 1e-3, end: 0, floor: 1e-5}
  clip_range: {kind: cosine, start: 0.3, end: 0.1, begin: 0.2, until: 0.8}
  entropy_coef: {kind: exponential, start: 0.05, end: 0.001}
  gamma: [[0, 0.98], [0.5, 0.99], [400k, 0.995]]     # points, joined linearly
```

Positions of at most 1 are fractions of the budget, larger ones env steps. A schedule depends on steps alone,
so a resumed run continues it; a resume with a larger budget stretches it.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One settable key."""

    name: str  # dotted
    default: str
    description: str

    def to_json(self) -> dict[str, str]:
        return {"key": self.name, "default": self.default, "description": self.description}


def keys(model: type[Section] = Config, prefix: str = "", around: type[Section] | None = None) -> list[Key]:
    """Every key of the schema, sections included, in canonical order."""
    found: list[Key] = []
    for name, field in _fields(model, around).items():
        found.append(_key(f"{prefix}{name}", field))
        sections = nested_sections(field.annotation)
        below = [(section, keys(section, _below(f"{prefix}{name}", field), model)) for section in sections]
        found += below[0][1] if len(below) == 1 else _together(below)
    return found


def _together(members: list[tuple[type[Section], list[Key]]]) -> list[Key]:
    """The keys of a union's members, each listed once, with the members that have it."""
    owners: dict[Key, list[str]] = {}
    for section, found in members:
        for key in found:
            owners.setdefault(key, []).append(_tag(section))
    return [
        key
        if len(tags) == len(members)
        else Key(key.name, key.default, f"{key.description} ({', '.join(tags)})".strip())
        for key, tags in owners.items()
    ]


def _tag(section: type[Section]) -> str:
    """The name by which a union knows this member."""
    return str(section.model_fields["name"].default)


def markdown() -> str:
    """The page."""
    # What several members of a union have below them is shown once.
    tables = dict.fromkeys(_tables(Config, "", "The whole config"))
    parts = [_INTRODUCTION, *tables, _SCHEDULES]
    return "\n".join([*parts, *_tables(Schedule, "", "Keys of a schedule", level=3)])


def _fields(model: type[Section], around: type[Section] | None) -> dict[str, FieldInfo]:
    """The fields to list; those that a section shares with the one around it are listed there."""
    bases = [base for base in model.__mro__[1:] if issubclass(base, Section) and base is not Section]
    shared = [base for base in bases if around is not None and issubclass(around, base)]
    return {
        name: field
        for name, field in model.model_fields.items()
        if not any(name in base.model_fields for base in shared)
    }


def _tables(
    model: type[Section], prefix: str, title: str, level: int = 2, around: type[Section] | None = None
) -> list[str]:
    lines = [f"{'#' * level} {title}", "", (model.__doc__ or "").strip(), ""]
    lines += ["| key | default | what it is |", "| --- | --- | --- |"]
    below: list[str] = []
    for name, field in _fields(model, around).items():
        key = _key(f"{prefix}{name}", field)
        lines.append(f"| `{key.name}` | {key.default} | {key.description} |")
        sections = nested_sections(field.annotation)
        for section in sections:
            which = f" with `name: {_tag(section)}`" if len(sections) > 1 else ""
            start = _below(key.name, field)
            below += _tables(section, start, f"`{start.removesuffix('.')}`{which}", around=model)
    return ["\n".join(lines) + "\n", *below]


def _key(name: str, field: FieldInfo) -> Key:
    one_section = "tuple" not in str(field.annotation) and not is_map(field.annotation)
    if nested_sections(field.annotation) and one_section:
        default = "a section"
    elif field.is_required():
        default = "required"
    else:
        default = f"`{_shown(field.get_default(call_default_factory=True, validated_data={}))}`"
    return Key(name, default, field.description or "")


def _below(key: str, field: FieldInfo) -> str:
    """How the keys of the sections within a key begin."""
    return f"{key}.NAME." if is_map(field.annotation) else f"{key}."


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if value == "":
        return '""'
    return str(list(value)) if isinstance(value, tuple) else str(value)
