"""The network of a config as a tree, for `gymnast config show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from rich.tree import Tree

    from gymnast.config.schema import Config
    from gymnast.policies.describe import Node


def network_of(config: Config) -> tuple[Node, str] | str:
    """The network and its engine; why there is none to show, if the env or torch is not there."""
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.policies.build import choose_engine
    from gymnast.policies.describe import describe_policy
    from gymnast.policies.layout import build_layout

    try:
        layout = build_layout(config.policy, *policy_spaces(config.env))
        return describe_policy(layout), choose_engine(config.engine, layout, config.device)
    except GymnastError as error:
        return str(error)


def network_data(config: Config) -> dict[str, Any]:
    """For JSON: the tree and the engine, or the reason why there is none."""
    found = network_of(config)
    if isinstance(found, str):
        return {"problem": found}
    node, engine = found
    return {"engine": engine, **node.as_data()}


def network_text(config: Config) -> str:
    """The tree as comment lines, so that what is printed stays a config that can be saved and read."""
    from io import StringIO

    from rich.console import Console

    found = network_of(config)
    if isinstance(found, str):
        return f"# network: not known, {found}\n"
    node, engine = found
    text = StringIO()
    tree = _tree(node, f"network, {engine} engine: {node.parameters:,} parameters")
    Console(file=text, width=100, no_color=True, highlight=False).print(tree)
    return "".join(f"# {line.rstrip()}\n" for line in text.getvalue().splitlines())


def _tree(node: Node, label: str) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(label))
    for part in node.parts:
        tree.add(_tree(part, _label(part)))
    return tree


def _label(node: Node) -> str:
    words = [f"{node.name}: {node.kind}"]
    if node.output is not None:
        words.append(f"→ {' × '.join(map(str, node.output)) or 'a number'}")
    if node.parameters:
        words.append(f"({node.parameters:,})")
    return " ".join(words)
