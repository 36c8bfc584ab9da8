"""Prose that arrives in pieces, in lines that break between words where a terminal shows them."""

from __future__ import annotations

import re
from types import TracebackType

from gymnast.processes import output
from gymnast.terminal.text import columns, echo, escaped

_PARTS = re.compile(r"\n| +|[^ \n]+")


class Flowing:
    """Prints words as soon as they are whole. What follows a broken line is indented like it."""

    def __init__(self) -> None:
        self._width = columns() if output.stdout().isatty() else None
        self._column = self._indent = 0
        self._spaces = self._word = ""
        self._is_first = True  # nothing but spaces on this line so far

    def write(self, text: str) -> None:
        """Add a piece; its last word may continue in the next."""
        for part in _PARTS.findall(text):
            if part == "\n":
                self._flush()
                echo()
                self._column = self._indent = 0
                self._is_first = True
            elif part[0] == " ":
                self._flush()
                self._spaces += part
            else:
                self._word += part

    def _flush(self) -> None:
        if not self._word:
            return
        word, spaces = escaped(self._word), self._spaces
        self._word = self._spaces = ""
        if self._is_first:
            self._indent, self._is_first = len(spaces), False
        elif self._width is not None and self._column + len(spaces) + len(word) > self._width:
            echo()
            spaces, self._column = " " * self._indent, 0
        echo(f"{spaces}{word}", end="")
        self._column += len(spaces) + len(word)

    def __enter__(self) -> Flowing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        if self._column:
            echo()
