"""Help in plain words: typer shows the Python type of what an argument takes, such as `<list[str]>`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperGroup, TyperOption

_METAVARS = {int: "N", float: "NUMBER"}


class PlainArgument(TyperArgument):
    """`RUN...` in the usage line, `RUN` in the list."""

    def display_type_rich(self, ctx: Any) -> str | None:
        return None

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        many = "..." if self.nargs != 1 else ""
        return [f"{self.metavar}{many}" if self.required else f"[{self.metavar}]{many}"]

    def _get_number_range_help_str(self) -> str | None:
        return _range(self.min, self.max)


class PlainOption(TyperOption):
    """`--episodes N` … [default: 100; at least 1]"""

    def _get_number_range_help_str(self) -> str | None:
        return _range(self.min, self.max)


def plain_help(command: Any) -> None:
    """Make the help of a command, and of those below it, plain."""
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            parameter.__class__ = PlainArgument  # typer makes them, and offers no way to have another class
            parameter.metavar = parameter.metavar or parameter.name.upper()
        elif isinstance(parameter, TyperOption):
            parameter.__class__ = PlainOption
            if parameter.metavar is None and not parameter.is_flag:
                kind = parameter.type_descriptor.annotation
                parameter.metavar = _METAVARS.get(kind) or parameter.opts[-1].lstrip("-").upper()
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            plain_help(below)


def _range(least: float | None, most: float | None) -> str | None:
    if least is None and most is None:
        return None
    if most is None:
        return f"at least {least:g}"
    return f"at most {most:g}" if least is None else f"{least:g} to {most:g}"
