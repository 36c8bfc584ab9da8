"""What YAML from outside may not do: nest for ever, expand aliases into gigabytes, refer to itself.

ruamel's composer turns events into nodes. This one counts as it goes, with aliases at their full size, so
that a hostile text is refused after a few thousand values instead of filling the memory.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from gymnast.runs.files import MOST_DEPTH, MOST_DIGITS

if TYPE_CHECKING:
    from ruamel.yaml import YAML

_BRACKETS = re.compile(r"[\[\]{}]")
MOST_VALUES = 10_000  # the longest preset has some hundreds


class TooMuchError(Exception):
    """A limit was exceeded; the text says which."""


def limited_yaml() -> YAML:
    """A reader of plain data. Always the one in Python: the one in C recurses without a limit."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _limited_composer()
    return yaml


@functools.cache
def _limited_composer() -> Any:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.events import AliasEvent

    class LimitedComposer(Composer):
        """Tracks how many values each anchor means, and how deep they nest."""

        def __init__(self, loader: Any = None) -> None:
            super().__init__(loader=loader)
            self.warn_double_anchors = False  # YAML allows them, and a warning would go to the terminal
            self._sizes: list[int] = [0]  # values in each collection that is open, from the outside in
            self._heights: list[int] = [0]
            self._weights: dict[str, tuple[int, int]] = {}  # by anchor: values, levels
            self._open: list[str] = []  # anchors of the collections around

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.parser.peek_event()
            anchor = event.anchor
            if isinstance(event, AliasEvent):
                if anchor in self._open:
                    raise TooMuchError(f"the anchor &{anchor} contains itself")
                size, height = self._weights.get(anchor, (1, 1))  # an unknown one is refused below
                self._add(size, height)
                return super().compose_node(parent, index)
            self._sizes.append(1)
            self._heights.append(1)
            self._check()
            if anchor is not None:
                self._open.append(anchor)
            node = super().compose_node(parent, index)
            size, height = self._sizes.pop(), self._heights.pop()
            if anchor is not None:
                self._open.pop()
                self._weights[anchor] = (size, height)
            self._add(size, height)
            return node

        def _add(self, size: int, height: int) -> None:
            self._sizes[-1] += size
            self._heights[-1] = max(self._heights[-1], height + 1)
            self._check()

        def _check(self) -> None:
            deepest = MOST_DEPTH + (len(self._heights) == 1)  # what is around everything is not a level
            if len(self._sizes) - 1 > MOST_DEPTH or self._heights[-1] > deepest:
                raise TooMuchError(f"nested more than {MOST_DEPTH} deep")
            if self._sizes[-1] > MOST_VALUES:
                raise TooMuchError(f"more than {MOST_VALUES:,} values")

    return LimitedComposer


def check_brackets(text: str) -> None:
    """Refuse thousands of open brackets before ruamel sees them: its scanner looks at each of them again and
    again. No text has as many, not even in quotes or comments."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth > 8 * MOST_DEPTH:
            raise TooMuchError(f"nested more than {MOST_DEPTH} deep")


def check_values(data: Any) -> None:
    """Refuse keys and values that no setting has. They would break whatever shows them, and a name in
    `!!binary` would pass whoever looks for names among the texts."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key in value:
                if isinstance(key, bool) or not isinstance(key, (str, int)):
                    raise TooMuchError(f"a key must be text, got {str(key)[:60]}")
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, (bytes, set)):
            kind, instead = ("binary", "text") if isinstance(value, bytes) else ("set", "a list")
            raise TooMuchError(f"!!{kind} is not a value of a setting; write {instead}")
        elif isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            raise TooMuchError(f"a whole number with more than {MOST_DIGITS} digits")
