"""The network of a config as a tree, for `gymnast config show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymnast.api import Network, NetworkNode
    from gymnast.terminal.screen import Tree


def network_text(network: Network) -> str:
    """The tree as comment lines, so that what is printed stays a config that can be saved and read."""
    from gymnast.terminal.screen import drawn

    node = network.tree
    if node is None:
        return f"# network: not known, {network.problem}\n"
    tree = _tree(node, f"network, {network.engine} engine: {node.parameters:,} parameters")
    return "".join(f"# {line.rstrip()}\n" for line in drawn(tree, 100).splitlines())


def _tree(node: NetworkNode, label: str) -> Tree:
    from gymnast.terminal.screen import Tree

    tree = Tree(label)
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
