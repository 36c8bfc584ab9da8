"""An answer as text that a person can read while it arrives: the strings of its JSON, as soon as they come.

Only the summary and the findings: a proposal is shown once it has been checked.
"""

from __future__ import annotations

from gymnast.redact import redact
from gymnast.terminal.text import escaped

_ESCAPES = {"n": " ", "t": " ", "r": " ", "b": "", "f": " "}
# What comes before and after a string, by where it is: the keys on the way to it, lists left out.
_FRAMES = {
    ("summary",): ("", "\n"),
    ("findings", "severity"): ("\n", ": "),
    ("findings", "title"): ("", "\n"),
    ("findings", "detail"): ("  ", "\n"),
    ("findings", "evidence"): ("  · ", "\n"),
}
_MOST_WORD = 400  # characters without a space


class LiveText:
    """Feed it the pieces of an answer; it gives back what can be shown of them, in whole words."""

    def __init__(self) -> None:
        self._open: list[str] = []  # '{' and '[' that are not closed
        self._keys: list[str] = []  # of the maps that are open, the last key of each
        self._in_string = self._is_key = self._after_escape = False
        self._code: str | None = None  # of \uXXXX, its digits so far
        self._key = self._word = ""
        self._frame: tuple[str, str] | None = None
        self._expects_key = False

    def feed(self, piece: str) -> str:
        """The text that this piece adds."""
        return "".join(map(self._character, piece))

    def _character(self, character: str) -> str:
        if self._in_string:
            return self._inside(character)
        if character == '"' and self._open:
            return self._begin()
        if character in "{[":
            self._open.append(character)
            if character == "{":
                self._keys.append("")
            self._expects_key = character == "{"
        elif character in "}]" and self._open:
            if self._open.pop() == "{":
                self._keys.pop()
        elif character == ",":
            self._expects_key = self._open[-1:] == ["{"]
        elif character == ":":
            self._expects_key = False
        return ""

    def _begin(self) -> str:
        self._in_string, self._is_key, self._key = True, self._expects_key, ""
        self._frame = None if self._is_key else _FRAMES.get(tuple(self._keys))
        return self._frame[0] if self._frame else ""

    def _inside(self, character: str) -> str:
        if self._code is not None:
            self._code += character
            if len(self._code) < 4:
                return ""
            digits, self._code = self._code, None
            try:
                return self._add(chr(int(digits, 16)))
            except ValueError:
                return ""
        if self._after_escape:
            self._after_escape = False
            if character == "u":
                self._code = ""
                return ""
            return self._add(_ESCAPES.get(character, character))
        if character == "\\":
            self._after_escape = True
            return ""
        return self._end() if character == '"' else self._add(character)

    def _add(self, text: str) -> str:
        if self._is_key:
            self._key += text if len(self._key) < _MOST_WORD else ""
            return ""
        if self._frame is None:
            return ""
        if not text.isspace():
            self._word = _joined(self._word, text)
            return self._shown() if len(self._word) > _MOST_WORD else ""
        return f"{self._shown()} "

    def _end(self) -> str:
        self._in_string = False
        if self._is_key:
            if self._keys:
                self._keys[-1] = self._key
            return ""
        return f"{self._shown()}{self._frame[1]}" if self._frame else ""

    def _shown(self) -> str:
        word, self._word = self._word, ""
        return redact(escaped(word))


def _joined(word: str, text: str) -> str:
    """JSON writes what is beyond 16 bits as two halves."""
    if "\udc00" <= text <= "\udfff" and word and "\ud800" <= word[-1] <= "\udbff":
        return word[:-1] + (word[-1] + text).encode("utf-16", "surrogatepass").decode("utf-16")
    return word + text
