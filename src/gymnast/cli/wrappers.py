"""gymnast wrappers: what a config may put around an environment."""

from __future__ import annotations

import inspect
import json
import shutil
import textwrap
from typing import Annotated, Any

import typer

from gymnast.errors import GymnastError, did_you_mean


def wrappers(
    text: Annotated[str | None, typer.Argument(help="Only those that mention this.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the wrappers that a config can name, with their arguments; one by its name, in full.

    \b
    Examples:
      gymnast wrappers
      gymnast wrappers reward
      gymnast wrappers resize
    """
    everything = describe_wrappers()
    found = [entry for entry in everything if text is None or text.lower() in json.dumps(entry).lower()]
    found = [entry for entry in everything if entry["name"] == text] or found
    if not found and text is not None:
        raise GymnastError(
            f"no wrapper mentions {text!r}{did_you_mean(text, [e['name'] for e in everything])}"
        )
    if as_json:
        print(json.dumps(found, indent=2))
        return
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    for entry in found:
        arguments = ", ".join(
            name if argument["required"] else f"{name}={argument['default']}"
            for name, argument in entry["arguments"].items()
        )
        mark = "  training only" if entry["training_only"] else ""
        typer.secho(entry["name"], bold=True, nl=False)
        print(f"{f'  {arguments}' if arguments else ''}{mark}")
        if entry["name"] == text:
            print(textwrap.indent(entry["doc"], "    "))
        else:
            print(textwrap.fill(entry["help"], width, initial_indent="    ", subsequent_indent="    "))


def describe_wrappers() -> list[dict[str, Any]]:
    """Every named wrapper as plain data, by name."""
    from gymnast.envs.wrappers import WRAPPERS, is_training_only, wrapper_arguments, wrapper_class

    entries = []
    for name in sorted(WRAPPERS):
        wrapper = wrapper_class(name)
        doc = inspect.getdoc(wrapper) or ""
        arguments = {
            argument.name: {
                "required": argument.default is argument.empty,
                "default": None if argument.default is argument.empty else argument.default,
            }
            for argument in wrapper_arguments(wrapper).values()
        }
        entries.append(
            {
                "name": name,
                "help": doc.split("\n\n")[0].replace("\n", " "),
                "doc": doc,
                "arguments": arguments,
                "training_only": is_training_only(wrapper),
            }
        )
    return entries
