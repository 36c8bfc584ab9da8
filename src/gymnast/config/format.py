"""`config format`: a config file in canonical order and layout, its comments kept.

Keys are put into the schema's order by moving their lines, each with the comment above it, because
a comment belongs to the key below it. Layout (indentation, spaces) is then left to ruamel's
round trip. Meaning is checked: the data read from the result equals the data read from the source.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gymnast.config.fields import section_at
from gymnast.config.reading import parse_yaml
from gymnast.errors import GymnastError

Keys = tuple[str, ...]

_FILE_ORDER = ("extends", "base", "variants")


def format_text(text: str, where: str = "config") -> str:
    """The canonical form of a config file's text; formatting it again changes nothing."""
    before = parse_yaml(text, where)
    if before is None:
        return text
    if not isinstance(before, dict):
        raise GymnastError(f"{where}: must hold a map of settings")
    formatted = text
    for _ in range(4):  # a comment's column can depend on the layout, so settle it
        previous = formatted
        formatted = _tidy(_lay_out(_order_keys(_tidy(previous), before), before))
        if formatted == previous:
            break
    if parse_yaml(formatted, where) != before:
        raise GymnastError(
            f"{where}: cannot be formatted without changing what it means; nothing was written"
        )
    return formatted


@dataclass(slots=True)
class _Item:
    """One key of a block map: the comment lines over it and its own lines."""

    key: str
    lines: list[str]


def _order_keys(text: str, data: dict[str, Any]) -> str:
    """Keys in canonical order, two spaces per level, comments at the level of the key below them."""
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import MappingNode

    if _uses_anchors(text):
        return text  # an alias must stay below its anchor
    root = YAML(typ="safe", pure=True).compose(text)
    if not isinstance(root, MappingNode) or root.flow_style:
        return text
    lines = text.splitlines()
    first = root.value[0][0].start_mark.line
    head = first
    while first > 0 and _is_comment(lines[first - 1]):
        first -= 1
    # A comment that opens the file is about all of it and stays, whichever key comes first.
    first = head if first == 0 else first
    return "\n".join([*lines[:first], *_ordered(root, lines, first, len(lines), (), data)]) + "\n"


def _ordered(
    node: Any, lines: list[str], start: int, end: int, path: Keys, data: dict[str, Any]
) -> list[str]:
    """Lines `start` to `end`, which hold the block map `node`, in canonical order and indentation."""
    from ruamel.yaml.nodes import MappingNode

    own_lines = [key.start_mark.line for key, _ in node.value]
    column, indent = node.start_mark.column, 2 * len(path)
    tail = _tail_start(lines, own_lines[-1] + 1, end, column)
    tops = [start, *(_comment_top(lines, line, column, before) for before, line in pairwise(own_lines)), tail]
    items = []
    for (key, value), own, (top, bottom) in zip(node.value, own_lines, pairwise(tops), strict=True):
        here = (*path, str(key.value))
        chunk = [*_move(lines[top:own], indent), *_shift(lines[own : own + 1], indent - column)]
        if isinstance(value, MappingNode) and not value.flow_style and value.start_mark.line > own:
            chunk += _ordered(value, lines, own + 1, bottom, here, data)
        else:
            chunk += _shift(lines[own + 1 : bottom], indent - column)
        items.append(_Item(here[-1], chunk))
    order = _canonical(path, data)
    items.sort(key=lambda item: _rank(item.key, order))
    apart = order == list(_FILE_ORDER)
    ordered = []
    for number, item in enumerate(items):
        while not item.lines[0].strip():
            item.lines.pop(0) if number == 0 or apart else ordered.append(item.lines.pop(0))
        ordered += [*([""] if apart and number else []), *item.lines]
    return ordered + _move(lines[tail:end], indent)


def _canonical(path: Keys, data: dict[str, Any]) -> list[str]:
    """The order of the keys of the map at `path` of a file; empty where the author's order is kept."""
    is_preset = "base" in data or "variants" in data
    if not path and is_preset:
        return list(_FILE_ORDER)
    if path == ("variants",) and is_preset:
        return []
    depth = (1 if path[0] == "base" else 2) if is_preset else 0
    settings: Any = data
    for name in path[:depth]:  # a variant's name may be a number, which YAML reads as one
        settings = next((value for key, value in settings.items() if str(key) == name), None) or {}
    model = section_at(path[depth:], settings)
    extends = ["extends"] if len(path) == depth else []
    return extends + (list(model.model_fields) if model is not None else [])


def _rank(key: str, order: list[str]) -> int:
    return order.index(key) if key in order else len(order)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _comment_top(lines: list[str], key_line: int, column: int, after: int) -> int:
    """Where what belongs to the key begins: empty lines and comments at its column or left of it."""
    top = key_line
    while top - 1 > after and (
        not lines[top - 1].strip() or (_is_comment(lines[top - 1]) and _indent(lines[top - 1]) <= column)
    ):
        top -= 1
    return top


def _tail_start(lines: list[str], start: int, end: int, column: int) -> int:
    """Where the comments begin that close a map: they stay at its end whatever key comes last."""
    tail = end
    while tail > start and (not lines[tail - 1].strip() or _is_comment(lines[tail - 1])):
        tail -= 1
    inner = [i for i in range(tail, end) if _is_comment(lines[i]) and _indent(lines[i]) > column]
    return inner[-1] + 1 if inner else tail


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _move(lines: list[str], indent: int) -> list[str]:
    return [" " * indent + line.strip() if line.strip() else "" for line in lines]


def _shift(lines: list[str], by: int) -> list[str]:
    return [" " * max(0, _indent(line) + by) + line.lstrip() if line.strip() else "" for line in lines]


def _uses_anchors(text: str) -> bool:
    from ruamel.yaml import YAML
    from ruamel.yaml.tokens import AliasToken, AnchorToken

    if not re.search(r"[&*]\w", text):
        return False
    return any(isinstance(token, (AliasToken, AnchorToken)) for token in YAML(pure=True).scan(text))


def _lay_out(text: str, data: dict[str, Any]) -> str:
    """Indentation and spacing by ruamel's round trip; maps written in one line get their order here."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        """Writes `null` where ruamel would leave nothing behind the colon, like a forgotten value."""

    null = "tag:yaml.org,2002:null"
    Representer.add_representer(type(None), lambda self, _: self.represent_scalar(null, "null"))
    yaml = YAML(typ="rt")
    yaml.Representer = Representer
    yaml.preserve_quotes = True
    yaml.width = 10**6
    yaml.indent(mapping=2, sequence=4, offset=2)
    tree = yaml.load(text)
    _order_flow_maps(tree, (), data)
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


def _order_flow_maps(node: Any, path: Keys, data: dict[str, Any]) -> None:
    from ruamel.yaml.comments import CommentedMap

    if not isinstance(node, CommentedMap):
        return
    for key, value in node.items():
        _order_flow_maps(value, (*path, str(key)), data)
    commented = node.ca.items or node.ca.comment
    if path and node.fa.flow_style() and not commented and node.anchor.value is None:
        order = _canonical(path, data)
        for name in sorted(node, key=lambda key: _rank(key, order)):
            node.move_to_end(name)


def _tidy(text: str) -> str:
    """No space at line ends, at most one empty line in a row, one newline at the end."""
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
