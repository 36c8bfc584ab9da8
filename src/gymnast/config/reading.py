"""Reading YAML: plain data out, one clear message if the text does not parse, line numbers on demand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError

PACKAGED = Path(__file__).resolve().parent.parent / "presets"


def shown(path: Path) -> str:
    """How a message names a file: short where that is not ambiguous."""
    path = path.absolute()
    if path.parent == PACKAGED:
        return f"gymnast/presets/{path.name}"
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise GymnastError(f"{shown(path)}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise GymnastError(f"{shown(path)}: not a text file in UTF-8 ({error.reason})") from None
    except OSError as error:
        raise GymnastError(f"{shown(path)}: cannot be read: {error.strerror}") from None


def read_yaml(path: Path) -> Any:
    return parse_yaml(read_text(path), shown(path))


def parse_yaml(text: str, where: str) -> Any:
    """YAML 1.2 as plain Python data. `where` (a file, 'command line') begins the error message."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return YAML(typ="safe").load(text)  # takes the C parser by itself where it is installed
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}" if mark is not None and "\n" in text.strip() else where
        problem = " ".join(str(error.problem or error.context).split())
        raise GymnastError(f"{place}: not valid YAML: {problem}") from None
    except (YAMLError, ValueError) as error:  # ValueError: a timestamp or number that cannot exist
        first_line = str(error).splitlines()[0]
        raise GymnastError(f"{where}: not valid YAML: {first_line}") from None


def line_of(path: Path, keys: Sequence[str | int]) -> int | None:
    """The line (from 1) on which the value of `keys` begins: its key's line, or of the deepest one found."""
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    node = YAML(typ="safe", pure=True).compose(read_text(path))
    line: int | None = None
    for key in keys:
        if isinstance(node, MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(key)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line + 1
        else:
            break
    return line
