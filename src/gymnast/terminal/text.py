"""Text on its way to the terminal.

Names, commands, reasons, headers and exception texts come from files and libraries, and may hold characters
that a terminal obeys: they can recolour, overwrite or reorder what is on the screen. All that is printed goes
through `escaped`: plain lines by `echo`, JSON by `echo_json`, tables and styled text by `screen.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
from typing import Any, Literal

from gymnast.processes import output

# C0 and C1 controls, DEL, line separators, bidirectional overrides, invisible characters, lone surrogates.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_OBEYED_IN_LINES = re.compile(_OBEYED.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))
PIPE_COLUMNS = 160  # a pipe has room for whole rows
_STYLES = {"bold": "1", "red": "31", "green": "32", "magenta": "35"}  # yellow cannot be read on white


def escaped(text: str, *, lines: bool = False) -> str:
    r"""The text with control characters as `\x1b`; with `lines`, newlines and tabs stay."""
    return (_OBEYED_IN_LINES if lines else _OBEYED).sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(match[0])
    return known or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def echo(
    text: str = "",
    *,
    err: bool = False,
    end: str = "\n",
    style: Literal["bold", "red", "green", "magenta"] | None = None,
    wrap: bool = False,
) -> None:
    """Print lines of text; a style only where colours are wanted. `wrap` is for prose: on a terminal its
    lines break between words."""
    stream = output.stderr() if err else output.stdout()
    text = escaped(text, lines=True)
    if wrap and stream.isatty():
        text = "\n".join(_wrapped(line) for line in text.split("\n"))
    if style is not None and stream.isatty() and not os.environ.get("NO_COLOR"):
        text = f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
    print(text, file=stream, end=end, flush=True)


def columns() -> int:
    """How wide lines may be: of the terminal, or PIPE_COLUMNS for a pipe where COLUMNS is not set."""
    if not output.stdout().isatty() and not os.environ.get("COLUMNS"):
        return PIPE_COLUMNS
    return max(20, shutil.get_terminal_size().columns)


def echo_entry(head: str, about: str = "", *, name: str = "") -> None:
    """Print one entry of a list, in lines that fit: `name` in bold, more of the head, and below it a text."""
    first = _wrapped(f"{escaped(name)}{head}", "    ")
    echo(first[: len(escaped(name))], style="bold", end="")
    echo(first[len(escaped(name)) :])
    if about:
        echo(_wrapped(f"    {escaped(about)}"))


def _wrapped(line: str, indent: str | None = None) -> str:
    """A line broken between words; what follows is indented like it, or by `indent`."""
    if len(line) <= columns():
        return line
    if indent is None:
        indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def json_text(value: Any, indent: int | None = None) -> str:
    r"""JSON that a person can read and a terminal can show: `\u001b` for what it would obey."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=indent, ensure_ascii=False)
    return _OBEYED_IN_LINES.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _finite(value: Any) -> Any:
    """JSON has no word for NaN and infinity."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and value - value != 0 else value


def echo_json(value: Any, indent: int | None = 2) -> None:
    """Print one JSON value."""
    print(json_text(value, indent), file=output.stdout(), flush=True)
