"""Imports point one way. Deferred imports count too; only those for type checkers do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gymnast

SOURCE = Path(gymnast.__file__).parent

# What anyone may import: it imports nothing but others of this list.
BASE = (
    "errors",
    "terminal",
    "import_path",
    "redact",
    "drawing",
    "processes",
    "config.values",
    "config.schedules",
    "config.search",
    "config.plugins",
    "cluster.settings",
    "cluster.metrics",
    "cluster.alerts",
    "metrics.spec",
    "metrics.catalogue",
    "metrics.alerts",
    "metrics.settings",
    "charts",
    "algorithms.alerts",
    "rollout.alerts",
    "policies.alerts",
    "training.alerts",
    "metrics.csv_file",
    "algorithms.metrics",
    "rollout.metrics",
    "training.metrics",
    "optimizers.settings",
    "policies.settings",
    "algorithms.settings",
    "algorithms.returns",
    "rollout.settings",
    "training.settings",
    "video.settings",
    "play.settings",
    "runs.files",
)

# The layers from the bottom up. A module belongs to the longest name that it begins with; it may import its
# own layer, those below, and BASE.
LAYERS = (
    ("web",),
    ("spaces",),
    ("optimizers",),
    ("policies",),
    ("envs",),
    ("rollout",),
    ("algorithms",),
    ("parts",),
    ("config",),
    ("cluster",),
    ("runs",),
    ("metrics.sinks",),
    ("observe",),
    ("training",),
    ("traces",),
    ("video",),
    ("reports",),
    ("recordings",),
    ("insight",),
    ("training.loop", "training.run"),
    ("doctor", "audit", "review"),
    ("archive",),
    ("publish",),
    ("remote",),
    ("smoke",),
    ("trials",),
    ("tune", "sweeps"),
    ("play",),
    ("api", "inspect"),  # the inspector is a user of the api, which starts it
    ("mcp",),
    ("smoke.stages",),  # runs in a process of its own, as a user of the api
    ("cli", "__main__"),
)


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            yield name, ast.parse(path.read_text())


def imports(tree: ast.Module) -> Iterator[str]:
    """Our own modules that are imported when the code runs, at the top or in a function."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                yield _own(f"{node.module}.{alias.name}") or _own(node.module)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield _own(alias.name)


def _own(name: str) -> str:
    """The module of ours that a dotted name is, without `gymnast.`; empty if it is none."""
    package, _, rest = name.partition(".")
    path = SOURCE.joinpath(*rest.split("."))
    exists = path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
    return rest if package == "gymnast" and rest and exists else ""


def _within(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def layer_of(module: str) -> int:
    """The layer with the longest name that the module begins with."""
    fitting = [
        (len(name), rank) for rank, names in enumerate(LAYERS) for name in names if _within(module, (name,))
    ]
    assert fitting, f"{module} belongs to no layer: add it to LAYERS"
    return max(fitting)[1]


def test_imports_point_down() -> None:
    wrong = []
    for module, tree in modules():
        for target in sorted(set(imports(tree)) - {""}):
            if _within(target, BASE):
                continue
            if _within(module, BASE):
                wrong.append(f"{module} (in BASE) imports {target}")
            elif layer_of(target) > layer_of(module):
                wrong.append(f"{module} imports {target}, which is above it")
    assert wrong == []


def test_deferred_imports_are_seen_and_those_for_types_are_not() -> None:
    code = (
        "from typing import TYPE_CHECKING\n"
        "from gymnast.runs import store\n"
        "if TYPE_CHECKING:\n    from gymnast.api import Run\n"
        "def late():\n    from gymnast.config.load import load_config\n    import gymnast.errors\n"
    )
    assert sorted(set(imports(ast.parse(code))) - {""}) == ["config.load", "errors", "runs.store"]
    assert layer_of("training.loop") > layer_of("training.learner")


def test_no_catch_all_modules() -> None:
    names = {part for module, _ in modules() for part in module.split(".")}
    assert not names & {"utils", "util", "helpers", "common", "misc", "manager", "base"} - {"base"}
