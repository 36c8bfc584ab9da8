"""A comparison as Markdown, to paste into an issue, a paper's notes or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gymnast.cli.compare_cells import GROUP_COLUMNS, difference, explained, run_columns
from gymnast.errors import cut
from gymnast.terminal.text import escaped

if TYPE_CHECKING:
    from gymnast.api import Comparison

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\|*_`<>[]#"})


def markdown(found: Comparison) -> str:
    """Tables of settings, groups and runs, then the verdicts and what the columns mean."""
    parts = []
    if found.settings:
        head = ["setting", *(entry.id for entry in found.runs)]
        rows = [[key, *values] for key, values in found.settings_shown().items()]
        parts.append(_table(head, rows))
    if found.groups:
        head = ["", "group", *(["env"] if len(found.envs) > 1 else []), *GROUP_COLUMNS]
        rows = [
            [
                letter,
                group.name,
                *([cut(one.env or "all, normalised")] if len(found.envs) > 1 else []),
                *(cell(one) for cell in GROUP_COLUMNS.values()),
            ]
            for letter, group in zip(found.letters, found.groups, strict=True)
            for one in group.envs
        ]
        parts.append(_table(head, rows))
        if found.differences:
            parts.append(_list(difference(found, one) for one in found.differences))
    cells = run_columns(brief=False)
    rows = [
        [cut(entry.env), *(cell(found, place) for cell in cells.values())]
        for place, entry in enumerate(found.runs)
    ]
    parts.append(_table(["env", *cells], rows))
    parts.append(_list([*explained(found), *(f"note: {note}" for note in found.notes)]))
    return "\n".join(part for part in parts if part)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    texts += ["| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows]
    return "\n".join(texts) + "\n"


def _list(lines: Iterable[str]) -> str:
    return "".join(f"- {_plain(line)}\n" for line in lines)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return escaped(text).translate(_SPECIAL)
