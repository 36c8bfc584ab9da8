"""Reading YAML: plain data out, one clear message if the text does not parse, line numbers on demand."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from gymnast.config.yaml_limits import TooMuchError, check_brackets, check_values, limited_yaml
from gymnast.errors import GymnastError
from gymnast.runs.files import MOST_CONFIG, MOST_DIGITS, UnsafeFile, open_users_file, read_all, refuse_link

PACKAGED = Path(__file__).resolve().parent.parent / "presets"


def shown(path: Path) -> str:
    """How a message names a file: short where that is not ambiguous."""
    path = path.absolute()
    if path.parent == PACKAGED:
        return f"gymnast/presets/{path.name}"
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def read_text(path: Path) -> str:
    """The text of a config file. The user's own may be a link, one inside a run folder may not."""
    try:
        if any(os.path.lexists(folder / "run.json") for folder in path.absolute().parents[:2]):
            refuse_link(path)
        with open_users_file(path, MOST_CONFIG) as file:
            return read_all(file).decode("utf-8-sig")
    except UnsafeFile as error:
        raise GymnastError(str(error).replace(str(path), shown(path))) from None
    except FileNotFoundError:
        raise GymnastError(f"{shown(path)}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise GymnastError(f"{shown(path)}: not a text file in UTF-8 ({error.reason})") from None
    except OSError as error:
        raise GymnastError(f"{shown(path)}: cannot be read: {error.strerror}") from None


def read_yaml(path: Path) -> Any:
    return deepcopy(_parsed(read_text(path), shown(path)))


@functools.lru_cache(maxsize=16)
def _parsed(text: str, where: str) -> Any:
    """Parsing takes longer than all else about a config, and one process reads the same preset again."""
    return parse_yaml(text, where)


def parse_yaml(text: str, where: str) -> Any:
    """YAML 1.2 as plain Python data. `where` (a file, 'command line') begins the error message."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(text) > MOST_CONFIG:
        raise GymnastError(f"{where}: more than {MOST_CONFIG:,} characters")
    try:
        check_brackets(text)
        data = limited_yaml().load(text)
        check_values(data)
        return data
    except TooMuchError as error:
        raise GymnastError(f"{where}: {error}") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}" if mark is not None and "\n" in text.strip() else where
        problem = " ".join(str(error.problem or error.context).split())
        raise GymnastError(f"{place}: not valid YAML: {problem}") from None
    except YAMLError as error:
        raise GymnastError(f"{where}: not valid YAML: {_first_line(error)}") from None
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        # ruamel's own, for a timestamp or number that cannot exist, or a tag that does not fit
        problem = _first_line(error) if isinstance(error, ValueError) else "a value does not fit its tag"
        if "integer string conversion" in problem:
            problem = f"a whole number with more than {MOST_DIGITS} digits"
        raise GymnastError(f"{where}: not valid YAML: {problem}") from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def line_of(path: Path, keys: Sequence[str | int]) -> int | None:
    """The line (from 1) on which the value of `keys` begins: its key's line, or of the deepest one found."""
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    node = _nodes(read_text(path))
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


@functools.lru_cache(maxsize=8)
def _nodes(text: str) -> Any:
    """A text's nodes, kept for the other lines of the same file that a message names."""
    return limited_yaml().compose(text)
