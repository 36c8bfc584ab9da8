"""What is painted is read back from a small terminal: what it shows must be what was meant."""

from __future__ import annotations

import errno
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.terminal.painter import STYLES, Line, Painter, width_of
from gymnast.terminal.text import escaped

SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Glass(io.StringIO):
    """A terminal with a scrollback: it understands what the painter may use, and refuses anything else."""

    def __init__(self, rows: int = 10) -> None:
        super().__init__()
        self.rows, self.lines, self.row, self.column, self.cursor = rows, [""], 0, 0, True

    def write(self, text: str) -> int:
        at = 0
        while at < len(text):
            if match := SEQUENCE.match(text, at):
                self._obey(match[1], match[2])
                at = match.end()
                continue
            char = text[at]
            if char == "\r":
                self.column = 0
            elif char == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append("")
            else:
                assert char >= " ", f"{char!r} is obeyed"
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + char + line[self.column + 1 :]
                self.column += 1
            at += 1
        return len(text)

    def _obey(self, argument: str, what: str) -> None:
        if what == "A":
            top = max(0, len(self.lines) - self.rows)
            self.row = max(top, self.row - int(argument or 1))
        elif what == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif what == "J":
            self.lines[self.row] = self.lines[self.row][: self.column]
            del self.lines[self.row + 1 :]
        elif argument in ("?25l", "?25h") or what in "lh":
            self.cursor = what == "h"
        else:
            assert what == "m"


@given(
    st.lists(
        st.one_of(
            st.lists(st.text("ab ", max_size=12), min_size=1, max_size=9),  # a frame
            st.text("xyz", min_size=1, max_size=15),  # a line above it
        ),
        max_size=20,
    )
)
def test_screen_holds_what_was_printed_and_the_last_frame(actions: list[list[str] | str]) -> None:
    glass = Glass()
    painter = Painter(glass, size=(20, 10))
    printed: list[str] = []
    frame: list[str] = []
    for action in actions:
        if isinstance(action, str):
            painter.above(action)
            printed.append(action)
        else:
            painter.show(action)
            frame = action
    expected = [line.rstrip() for line in [*printed, *frame]]
    assert [line.rstrip() for line in glass.lines][: len(expected)] == expected
    assert not any(line.strip() for line in glass.lines[len(expected) :])
    painter.leave()
    assert glass.cursor, "it is visible again"


def test_only_changed_lines_are_written() -> None:
    out = io.StringIO()
    painter = Painter(out, size=(80, 24))
    lines = [f"line {index}" for index in range(20)]
    painter.show(lines)
    before = len(out.getvalue())
    painter.show([*lines[:10], "changed", *lines[11:]])
    written = out.getvalue()[before:]
    assert "changed" in written
    assert "line" not in written


def test_terminal_that_became_narrower_is_painted_over() -> None:
    out = io.StringIO()
    painter = Painter(out, size=(80, 24))
    painter.show(["x" * 70, "y" * 10])
    painter._size = (40, 24)
    before = len(out.getvalue())
    painter.show(["x" * 30])
    assert out.getvalue()[before:].startswith("\r\x1b[2A"), "the first line takes two rows now"


def test_lost_terminal_is_left_alone() -> None:
    class Gone(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            raise OSError(errno.EIO, "gone")

    gone = Gone()
    painter = Painter(gone, size=(80, 24))
    painter.show(["a"])
    painter.above("b")
    painter.leave()
    assert gone.writes == 1


@given(st.text(), st.integers(0, 30))
def test_any_text_fits_and_nothing_of_it_is_obeyed(text: str, width: int) -> None:
    line = str(Line(width, dict.fromkeys(STYLES, "")).add(text))
    assert escaped(line) == line
    assert width_of(line) <= width


def test_wide_characters_take_two_cells() -> None:
    assert width_of("倒立摆") == 6
    assert str(Line(5, dict.fromkeys(STYLES, "")).add("倒立摆")) == "倒立…"
    assert str(Line(4, dict.fromkeys(STYLES, "")).add("倒立摆")) == "倒… "


def test_colours_are_readable_on_black_and_on_white() -> None:
    """Yellow and white vanish on white, black on black, bright and dim ones on either."""
    assert {code for code in STYLES.values() if code not in ("", "1")} <= {"31", "32", "34", "35", "36"}


@pytest.mark.parametrize(("value", "coloured"), [("", True), ("1", False)])
def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch, value: str, coloured: bool) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    line = str(Painter(io.StringIO(), size=(80, 24)).line(20).add("a", "bad").add("b", "bold"))
    assert ("\x1b[31m" in line) == coloured
    assert "\x1b[1mb" in line, "bold is not a colour"


def test_printed_text_breaks_between_words() -> None:
    out = io.StringIO()
    Painter(out, size=(20, 24)).above("solved after 15,360 env steps")
    assert out.getvalue().split("\r\n") == ["solved after 15,360", "env steps", ""]
