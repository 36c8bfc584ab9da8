"""The network of a config as a tree, for `gymnast config show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.tree import Tree

    from gymnast.api import Network, NetworkNode


def network_text(network: Network) -> str:
    """The tree as comment lines, so that what is printed stays a config that can be saved and read."""
    from io import StringIO

    from rich.console import Console

    node = network.tree
    if node is None:
        return f"# network: not known, {network.problem}\n"
    text = StringIO()
    tree = _tree(node, f"network, {network.engine} engine: {node.parameters:,} parameters")
    Console(file=text, width=100, no_color=True, highlight=False).print(tree)
    return "".join(f"# {line.rstrip()}\n" for line in text.getvalue().splitlines())


def _tree(node: NetworkNode, label: str) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(label))
    for part in node.parts:
        tree.add(_tree(part, _label(part)))
    return tree


def _label(node: NetworkNode) -> str:
    words = [f"{node.name}: {node.kind}"]
    if node.output is not None:
        words.append(f"→ {' × '.join(map(str, node.output)) or 'a number'}")
    if node.parameters:
        words.append(f"({node.parameters:,})")
    return " ".join(words)
