"""Commands parse, call the api, and print: what `gymnast.cli` may import, deferred imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gymnast

SOURCE = Path(gymnast.__file__).parent
FILES = sorted((SOURCE / "cli").glob("**/*.py"))
# The api for what a command does; consoles and keys of a terminal, because they are the terminal itself.
ALLOWED = (
    "gymnast.__version__",
    "gymnast.api",
    "gymnast.errors",
    "gymnast.terminal",
    "gymnast.cli",
    "gymnast.metrics.sinks",
    "gymnast.training.run.keys",
    "gymnast.mcp",  # a front end of its own on the api, which `gymnast mcp` starts
)


def imports(text: str) -> Iterator[str]:
    """Every module or name of ours that the code imports, at the top, in functions and for typing alone."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == "gymnast")


def outside(text: str) -> list[str]:
    return [name for name in imports(text) if not any(f"{name}.".startswith(f"{a}.") for a in ALLOWED)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_commands_import_the_api_and_nothing_past_it(file: Path) -> None:
    assert outside(file.read_text()) == []


def test_walk_finds_deferred_imports() -> None:
    code = (
        "from typing import TYPE_CHECKING\nfrom gymnast import api, apis\n"
        "if TYPE_CHECKING:\n    import gymnast.runs.store\n"
        "def f():\n    from gymnast.config.load import load_config\n    from gymnast.cli.train import app\n"
    )
    assert outside(code) == ["gymnast.apis", "gymnast.runs.store", "gymnast.config.load.load_config"]


def test_table_of_commands_names_modules_of_the_cli() -> None:
    from gymnast.cli.app import COMMANDS

    assert len(FILES) > len(COMMANDS)
    assert all(target.startswith("gymnast.cli.") for target, _ in COMMANDS.values())
