"""A few lines of a terminal that are painted again and again in place, and lines printed above them.

Only escape sequences that every terminal knows, and only lines that changed: a frame of forty lines takes a
fraction of a millisecond. Text that is not ours is escaped (`Line.add`).
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from io import TextIOBase
from typing import Any, Literal, TextIO

from gymnast.processes import output
from gymnast.terminal.text import escaped

Style = Literal["plain", "bold", "good", "bad", "bar", "warning"]
# Readable on black and on white: neither yellow nor white, nothing bright and nothing dim. Bold stands alone,
# because many terminals show bold colours as bright ones.
STYLES: dict[Style, str] = {"plain": "", "bold": "1", "good": "32", "bad": "31", "bar": "36", "warning": "35"}
_WITHOUT_COLOUR = {"plain", "bold"}
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR_RIGHT, _CLEAR_BELOW = "\x1b[K", "\x1b[J"
_WHOLE_EVERY = 25  # frames: repairs what others wrote into it


class Line:
    """One line as it is written: what does not fit into its width is cut off, and marked."""

    __slots__ = ("_codes", "_parts", "room")

    def __init__(self, width: int, codes: dict[Style, str]) -> None:
        self.room = width
        self._codes = codes
        self._parts: list[str] = []

    def add(self, text: str, style: Style = "plain") -> Line:
        if not text.isprintable():
            text = escaped(text)
        cells = len(text) if text.isascii() else width_of(text)
        if cells > self.room:
            text, cells = _cut(text, self.room), self.room
        self.room -= cells
        code = self._codes[style]
        self._parts.append(f"\x1b[{code}m{text}\x1b[0m" if code and text else text)
        return self

    def __str__(self) -> str:
        return "".join(self._parts)


def width_of(text: str) -> int:
    """The cells of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _cut(text: str, cells: int) -> str:
    if cells < 1:
        return ""
    while width_of(text) > cells - 1:
        text = text[: max(0, min(len(text) - 1, cells - 1))]
    return text + "…" + " " * (cells - 1 - width_of(text))


class Painter:
    """Paints a frame on a terminal. A terminal that is lost (a dropped connection) is written to no more."""

    def __init__(
        self, stream: TextIO | None = None, *, size: tuple[int, int] | None = None, color: bool | None = None
    ) -> None:
        """Without a stream: the user's terminal, also while standard output leads elsewhere."""
        self._stream = stream
        self._size = size
        color = not os.environ.get("NO_COLOR") if color is None else color
        self.codes = {name: code if color or name in _WITHOUT_COLOUR else "" for name, code in STYLES.items()}
        self.lost = False
        self._painted: list[str] = []  # the frame on the screen; the cursor is at the end of its last line
        self._columns = 0
        self._count = 0
        self._open = False
        self._redirected: list[tuple[str, Any, Any]] = []

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        if self._size is not None:
            return self._size
        try:
            columns, lines = os.get_terminal_size(self._file().fileno())
        except (OSError, ValueError):
            columns, lines = 0, 0
        return _number("COLUMNS") or columns or 80, _number("LINES") or lines or 24  # it may not know

    def line(self, width: int) -> Line:
        return Line(width, self.codes)

    def show(self, lines: Sequence[str]) -> None:
        """Paint this frame in place of the last one, or below what is there. Lines are narrower than the
        terminal, and fewer."""
        columns = self.size()[0]
        out = [] if self._open else [_HIDE_CURSOR]
        if not self._open:
            self._open = True
            self._redirect()
        whole = columns != self._columns or self._count % _WHOLE_EVERY == 0
        before, rows = self._painted, self._rows(columns)
        if before:
            out.append(_up(rows))
        for index, line in enumerate(lines):
            known = index < len(before) and before[index] == line and not whole
            out.append(("\r\n" if index else "") + ("" if known else line + _CLEAR_RIGHT))
        if rows > len(lines):
            out.append(f"\r\n{_CLEAR_BELOW}\x1b[A")
        self._painted, self._columns = list(lines), columns
        self._count += 1
        self._write("".join(out))

    def above(self, text: str, style: Style = "plain") -> None:
        """Print lines; a frame that is on the screen moves below them."""
        frame, code, columns = self._painted, self.codes[style], self.size()[0]
        texts = escaped(text, lines=True).split("\n")
        lines = [part for line in texts for part in _wrapped(line, max(1, columns - 1))]
        lines = [f"\x1b[{code}m{line}\x1b[0m" if code else line for line in lines]
        # Cleared line by line: clearing the whole screen at once would leave a copy in some scrollbacks.
        start, ending = (_up(self._rows(columns)), f"{_CLEAR_RIGHT}\r\n") if frame else ("", "\r\n")
        self._write(start + ending.join([*lines, *frame]) + (_CLEAR_RIGHT if frame else ending))

    def leave(self) -> None:
        """The frame stays as it is; what comes next begins below it."""
        if not self._open:
            return
        self._open = False
        for name, proxy, stream in self._redirected:
            if sys.__dict__[name] is proxy:
                setattr(sys, name, stream)
        self._redirected.clear()
        ending = "\r\n" if self._painted else ""
        self._painted, self._count = [], 0
        self._write(f"{ending}{_SHOW_CURSOR}")

    def forget(self) -> None:
        """The frame is no longer where it was: the next one is painted below what is there."""
        self._painted, self._count = [], 0

    def _rows(self, columns: int) -> int:
        """Of the screen that the frame takes: a terminal that became narrower has broken its lines."""
        if columns >= self._columns:
            return len(self._painted)
        widths = (width_of(_SEQUENCE.sub("", line)) for line in self._painted)
        return sum(max(1, -(-width // columns)) for width in widths)

    def _file(self) -> TextIO:
        return self._stream if self._stream is not None else output.stdout()

    def _write(self, text: str) -> None:
        if self.lost:
            return
        try:
            file = self._file()
            file.write(text)
            file.flush()
        except OSError:
            self.lost = True

    def _redirect(self) -> None:
        """What is printed meanwhile belongs above the frame, where no log takes it."""
        if self._stream is not None or output.is_captured():
            return
        self._stream = sys.stdout
        for name in ("stdout", "stderr"):
            stream = sys.__dict__[name]
            if stream.isatty():
                proxy = _Above(self.above, stream)
                self._redirected.append((name, proxy, stream))
                setattr(sys, name, proxy)


class _Above(TextIOBase):
    """A stream whose whole lines are printed above the frame."""

    def __init__(self, above: Callable[[str], None], stream: Any) -> None:
        self._above = above
        self._stream = stream
        self._rest = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return str(self._stream.encoding)

    @property
    def buffer(self) -> Any:
        """For those who write bytes."""
        return self._stream.buffer

    def fileno(self) -> int:
        return int(self._stream.fileno())

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            self._above("\n".join(lines))
        return len(text)

    def isatty(self) -> bool:
        return True


def _up(rows: int) -> str:
    """From the end of a frame to its first cell."""
    return f"\r\x1b[{rows - 1}A" if rows > 1 else "\r"


def _wrapped(line: str, columns: int) -> list[str]:
    """A line broken between words."""
    if width_of(line) <= columns:
        return [line]
    return textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False)


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0
