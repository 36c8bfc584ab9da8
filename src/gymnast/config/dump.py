"""A resolved config as YAML text in the schema's order: the file in a run's folder, `config show`.

A run's file has everything, defaults too, so that the run can be repeated after defaults have changed;
`config show` leaves out what has no effect (applies.py). Reading the text back gives an equal Config,
except for values that look like secrets, which are never written: a run with one does not start.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gymnast.config.fields import sections_in
from gymnast.config.schedules import Schedule
from gymnast.config.schema import Config
from gymnast.config.values import Section
from gymnast.redact import redacted

# Text that YAML reads back as the same text without quotes: no indicator, nothing like a number.
_PLAIN = re.compile(r"[A-Za-z][\w ./+-]*(?<! )", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_OTHER_MEANING = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def plain_data(config: Config) -> dict[str, Any]:
    """The config as maps, lists and plain values, secrets hidden: for JSON and for trackers."""
    return _finite(redacted(config.model_dump()))


def flat_data(data: Any, prefix: str = "") -> dict[str, Any]:
    """Nested maps as one, by dotted key."""
    if not isinstance(data, dict):
        return {prefix: data} if prefix else {}
    flat: dict[str, Any] = {}
    for key, item in data.items():
        flat |= flat_data(item, f"{prefix}.{key}" if prefix else str(key))
    return flat


def dump_config(
    config: Config, notes: Mapping[str, str] | None = None, *, leave_out: Collection[str] = ()
) -> str:
    """YAML of every setting; `notes` (dotted key → text) become comments at the line's end.

    `leave_out` names settings and sections, by dotted key, that are not written.
    """
    lines = list(_lines(Config, redacted(config.model_dump()), "", leave_out))
    if notes is None:
        return "".join(f"{text}\n" for _, text in lines)
    noted = [(text, notes.get(key, "")) for key, text in lines]
    column = min(max((len(text) for text, note in noted if note), default=0), 60)
    return "".join(f"{text:<{column}}  # {note}\n" if note else f"{text}\n" for text, note in noted)


def _lines(
    model: type[Section], data: dict[str, Any], prefix: str, leave_out: Collection[str]
) -> Iterator[tuple[str, str]]:
    """(dotted key, line of YAML), a block for a section and one line for anything else."""
    indent = "  " * prefix.count(".")
    for key, value in data.items():
        field = model.model_fields.get(key)
        nested = [] if field is None else [s for s in sections_in(field.annotation) if s is not Schedule]
        dotted = f"{prefix}{key}"
        if dotted in leave_out:
            continue
        if nested and isinstance(value, dict) and value:  # an empty block would read back as null
            yield dotted, f"{indent}{_scalar(key)}:"
            chosen = next((s for s in nested if set(value) <= set(s.model_fields)), nested[0])
            yield from _lines(chosen, value, f"{dotted}.", leave_out)
        else:
            yield dotted, f"{indent}{_scalar(key)}: {flow(value)}"


def flow(value: Any) -> str:
    """A value as a config has it on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return (
            repr(value)
            if math.isfinite(value)
            else ".nan"
            if math.isnan(value)
            else f"{value:+.0f}"[0] + ".inf"
        )
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _OTHER_MEANING:
        return text
    return '"' + "".join(_ESCAPES.get(char) or _escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _finite(value: Any) -> Any:
    """JSON has no infinity: it is written as text, which a number's setting reads as well."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
