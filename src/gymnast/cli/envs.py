"""`gymnast envs`: environments and their variants, found by names, also misspelt ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.options import ConfigDirs, Json
from gymnast.cli.program import program
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_entry, echo_json

if TYPE_CHECKING:
    from gymnast.api import EnvEntry

_NARROW = 80  # columns: with fewer, a table would break most of its lines


def envs(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD", help="Words of an id, variant, family or description; spelling may be off."
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also those without a preset, which train with defaults.")
    ] = False,
    json: Json = False,
    config_dir: ConfigDirs = None,
) -> None:
    """List environments and variants.

    \b
    Examples:
      gymnast envs
      gymnast envs lunar
      gymnast envs toy text
      gymnast envs cartpol --json
    """
    words = " ".join(text or ())
    found = api.list_envs(words, every=every, config_dirs=config_dir or ())
    if json:
        echo_json([entry.to_json() for entry in found])
        return
    missing = api.families_not_installed()
    if not found:
        elsewhere = f", and of {', '.join(missing)} none is installed" if missing else ""
        raise GymnastError(
            f"no environment matches {words!r}; `gymnast envs --all` lists every one{elsewhere}"
        )

    _print_table(found)
    if every and missing:
        extras = ",".join(dict.fromkeys(missing.values()))
        echo(f"Not installed: {', '.join(missing)}. pip install 'gymnast[{extras}]' brings them.", wrap=True)


def _print_table(found: list[EnvEntry]) -> None:
    from gymnast.terminal.screen import Table, screen

    console = screen()
    if console.width < _NARROW:
        for entry in found:
            solved = "" if entry.solved_at is None else f", solved at {entry.solved_at:g}"
            echo_entry(f"  {_family(entry)}{solved}", ", ".join(entry.variants), name=entry.name)
        _print_notes(found)
        return
    described = console.width >= 110  # narrower, a column of descriptions would break every line
    table = Table(box=None, pad_edge=False)
    table.add_column("environment", no_wrap=True)
    table.add_column("variants", overflow="fold", min_width=12)
    table.add_column("family", no_wrap=True)
    table.add_column("solved at", justify="right")
    if described:
        table.add_column("")
    for entry in found:
        row = [entry.name, ", ".join(entry.variants), _family(entry)]
        row.append("" if entry.solved_at is None else f"{entry.solved_at:g}")
        if described:
            row.append(entry.description)
        table.add_row(*row)
    console.print(table)
    _print_notes(found)


def _print_notes(found: list[EnvEntry]) -> None:
    for entry in found:
        if entry.problem is not None:
            echo(f"\n{entry.name} does not load: {entry.problem}", style="red", wrap=True)
    if any(entry.extra for entry in found):
        absent = dict.fromkeys(entry.extra for entry in found if entry.extra and not entry.installed)
        wanted = f": pip install 'gymnast[{','.join(absent)}]'" if absent else ""
        echo(f"\n✓ needs an extra, which is installed; ✗ needs one that is not{wanted}", wrap=True)
    example = next((entry for entry in found if entry.variants and entry.installed), None)
    if example is not None:
        echo(f"\nTrain one: {program()} train {example.name}:{example.variants[0]}")


def _family(entry: EnvEntry) -> str:
    """The family, with a mark for whether it is installed if it is not part of the core."""
    if entry.extra is None and entry.installed:
        return entry.family
    return f"{entry.family} {'✓' if entry.installed else '✗'}"
