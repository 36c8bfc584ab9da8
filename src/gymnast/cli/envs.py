"""`gymnast envs`: environments and their variants, found by anything near to their name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.config.catalogue import Entry


def envs(
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Words of an id, variant, family or description; spelling may be off."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also those without a preset, which train with defaults.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config_dir: Annotated[
        list[Path] | None, typer.Option("--config-dir", help="A folder of your own configs to list too.")
    ] = None,
) -> None:
    """List environments and variants.

    \b
    Examples:
      gymnast envs
      gymnast envs lunar
      gymnast envs toy text
      gymnast envs cartpol --json
    """
    from gymnast.config.catalogue import entries, registered_entries, search

    listed = entries(config_dir or ())
    words = " ".join(text or ())
    found = search(words, listed)
    if every or (words and not found):
        others = registered_entries([*(entry.name for entry in listed), *(entry.env_id for entry in listed)])
        found += search(words, others)
    if json:
        import json as json_module

        typer.echo(json_module.dumps([entry.as_json() for entry in found], indent=2, ensure_ascii=False))
        return
    if not found:
        raise GymnastError(f"no environment is like {words!r}; `gymnast envs --all` lists every one")

    _print_table(found)


def _print_table(found: list[Entry]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    described = console.width >= 110  # narrower, a column of descriptions would break every line
    missing = any(not entry.installed for entry in found)
    table = Table(box=None, pad_edge=False)
    table.add_column("environment", no_wrap=True)
    table.add_column("variants", overflow="fold")
    table.add_column("family", no_wrap=True)
    table.add_column("solved at", justify="right")
    if missing:
        table.add_column("needs", no_wrap=True)
    if described:
        table.add_column("")
    for entry in found:
        row = [entry.name, ", ".join(entry.variants), entry.family]
        row.append("" if entry.solved_at is None else f"{entry.solved_at:g}")
        if missing:
            row.append("" if entry.installed else f"gymnast[{entry.extra}]" if entry.extra else entry.family)
        if described:
            row.append(entry.description)
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for entry in found:
        if entry.problem is not None:
            console.print(Text(f"\n{entry.name} does not load: {entry.problem}", style="red"))
    example = next((entry for entry in found if entry.variants), None)
    if example is not None:
        console.print(Text(f"\nTrain one: gymnast train {example.name}:{example.variants[0]}"))
