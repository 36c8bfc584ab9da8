"""Tables and styled text, by rich: the only place that makes its consoles, texts, tables and trees.

Text that is not ours is never markup or an emoji code, and what a terminal would obey is escaped.
"""

from __future__ import annotations

import os
from io import StringIO
from typing import Any

import rich.console
import rich.table
import rich.text
import rich.tree

from gymnast.terminal.text import PIPE_COLUMNS, escaped


class Screen(rich.console.Console):
    """A console for text that may come from anywhere."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> rich.text.Text:
        # markup is an argument of `print` as well: whoever asks for it there does not get it
        plain = {"emoji": False, "markup": False, "highlight": False}
        return super().render_str(escaped(text, lines=True), **(options | plain))


def screen(*, err: bool = False) -> Screen:
    """The terminal; a pipe gets room enough for whole rows, unless COLUMNS says otherwise."""
    found = Screen(stderr=err)
    return found if found.is_terminal or os.environ.get("COLUMNS") else Screen(stderr=err, width=PIPE_COLUMNS)


class Text(rich.text.Text):
    """Styled text, escaped."""

    def __init__(self, text: str = "", style: str = "", **options: Any) -> None:
        super().__init__(escaped(text, lines=True), style, **options)

    def append(self, text: Any, style: Any = None) -> Text:
        super().append(escaped(text, lines=True) if isinstance(text, str) else text, style)
        return self


class Table(rich.table.Table):
    """A table whose cells of text are escaped, newlines too. What does not fit is broken, never cut off."""

    def add_column(self, header: Any = "", *rest: Any, **options: Any) -> None:
        super().add_column(_cell(header), *rest, **({"overflow": "fold"} | options))

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(_cell(cell) for cell in cells), **options)


def _cell(content: Any) -> Any:
    return Text(escaped(content)) if isinstance(content, str) else content


class Tree(rich.tree.Tree):
    """A tree of one-line labels, escaped."""

    def __init__(self, label: str) -> None:
        super().__init__(_cell(label))


def drawn(what: Any, width: int) -> str:
    """What a console of this width would print, without colours."""
    file = StringIO()
    Screen(file=file, width=width, no_color=True).print(what)
    return file.getvalue()
