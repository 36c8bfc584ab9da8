"""gymnast wrappers: what a config may put around an environment."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from gymnast import api
from gymnast.terminal.text import echo, echo_entry, echo_json


def wrappers(
    text: Annotated[str | None, typer.Argument(metavar="WORD", help="Only those that mention this.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the wrappers that a config can name, with their arguments; one by its name, in full.

    \b
    Examples:
      gymnast wrappers
      gymnast wrappers reward
      gymnast wrappers resize
    """
    found = api.list_wrappers(text)
    if as_json:
        echo_json([wrapper.to_json() for wrapper in found])
        return
    for wrapper in found:
        arguments = ", ".join(a.name if a.required else f"{a.name}={a.default}" for a in wrapper.arguments)
        mark = "  training only" if wrapper.training_only else ""
        whole = wrapper.name == text
        head = f"{f'  {arguments}' if arguments else ''}{mark}"
        echo_entry(head, "" if whole else wrapper.help, name=wrapper.name)
        if whole:
            echo(textwrap.indent(wrapper.doc, "    "), wrap=True)
