"""Text in reports: what a run folder says may be hostile, and a report gets shared.

So a text from a folder is one line without control characters, secrets, or the name of someone's home folder;
in Markdown it makes no link, no HTML and no cell of a table.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from pathlib import Path

from gymnast.errors import cut
from gymnast.redact import redact
from gymnast.terminal.text import escaped

_HOMES = re.compile(
    r"(?<![\w.~-])(?:/home|/Users|[A-Za-z]:[\\/]Users)[\\/][^\\/\s:'\"]+|(?<![\w./~-])/root(?=/|$)"
)
# What Markdown would read: emphasis, code, links, HTML, formulas; and bare URLs, which become links.
_SPECIAL = re.compile(
    r"[\\`*\[\]<>~&$]|_(?!\w)|(?<!\w)_|(?<=[a-z]):(?=//)|(?<=www)\.|(?<=mailto):", re.IGNORECASE
)


def clean(text: object, most: int = 300) -> str:
    """A text from a run folder as one line that may be shown and shared."""
    line = escaped(str(text)[: 16 * most])
    return cut(redact(_without_homes(line)), most)


def _without_homes(text: str) -> str:
    own = str(Path.home())
    if len(own) > 1:
        text = re.sub(rf"{re.escape(own)}(?=[\\/]|\b|$)", "~", text)
    return _HOMES.sub("~", text)


def plain(text: object, most: int = 300) -> str:
    """As prose in Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", clean(text, most))


def code(text: object, most: int = 300) -> str:
    """As code in Markdown, where nothing else has a meaning."""
    inside = clean(text, most).replace("`", "'")
    return f"`{inside}`" if inside.strip() else ""


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table; a head that ends with ':' is of numbers. Cells are `plain` or `code`."""
    lines = [_row([name.removesuffix(":") for name in head])]
    lines.append("| " + " | ".join("---:" if name.endswith(":") else "---" for name in head) + " |")
    return lines + [_row(cells) for cells in rows]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def figure(value: float | None) -> str:
    """A number with four digits that count; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    if value == 0 or 1e-3 <= abs(value) < 1e3:
        return f"{value:.4g}"
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"


def setting_text(value: object) -> str:
    """A setting as a config would have it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {setting_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(setting_text, value)) + "]"
    return str(value)


def moment(text: str) -> str:
    """An ISO time to the minute, in UTC; empty if it is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (TypeError, ValueError, OverflowError):
        return ""


def cut_bytes(text: str, most: int) -> str:
    """The text, cut to so many bytes of UTF-8 with … at its end."""
    data = text.encode(errors="replace")
    if len(data) <= most:
        return data.decode()
    return data[: max(0, most - 3)].decode(errors="ignore") + "…" if most >= 3 else ""
