"""`gymnast roms`: import the console games that you own, and list which are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.api import ImportedRoms

app = typer.Typer(help="Import and list games for old consoles.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A folder of your own ROMs, zip files included; or one file."),
    ],
    as_json: Json = False,
) -> None:
    """Import every ROM below a folder that stable-retro knows by its hash.

    Your files are left as they are. Copies are kept in your data folder (GYMNAST_ROMS_DIR, else
    gymnast/roms in XDG_DATA_HOME or ~/.local/share); nothing is sent anywhere.

    \b
    Examples:
      gymnast roms import ~/roms
      gymnast roms import mario.zip
    """
    result = api.import_roms(source)
    if as_json:
        typer.echo(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    else:
        _print_imported(result)
    if not result.games and not result.already:
        raise GymnastError(f"no ROM in {source} is one that stable-retro knows")


def _print_imported(result: ImportedRoms) -> None:
    for game, file in result.games.items():
        typer.echo(f"imported {game}  ({file})")
    if result.already:
        typer.echo(f"already there: {', '.join(result.already)}")
    for file in result.unknown:
        typer.echo(f"unknown: {file}")
    for file, reason in result.unreadable.items():
        typer.echo(f"not readable: {file} ({reason})")
    count = len(result.games)
    if count:
        typer.echo(f"{count} game{'' if count == 1 else 's'} imported into {result.folder}")
        typer.echo(f"\nTrain one: gymnast train Retro/{next(iter(result.games))}:ppo")


@app.command("list")
def list_(
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="Show its states, buttons and variables instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The games that can be played, or all about one of them.

    \b
    Examples:
      gymnast roms list
      gymnast roms list SuperMarioBros-Nes
    """
    if game is None:
        _list_games(as_json)
    else:
        _show_game(game, as_json)


def _list_games(as_json: bool) -> None:
    found = api.list_games()
    if as_json:
        typer.echo(json.dumps([game.to_json() for game in found], indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("environment", "console", "states", "starts at", box=None, pad_edge=False)
    for game in found:
        cells = (game.id, game.console, game.states, game.default_state or "the beginning")
        table.add_row(*(Text(str(cell)) for cell in cells))
    Console().print(table)
    known = api.count_known_games()
    typer.echo(f"\n{known:,} games are known; `gymnast roms import DIR` imports those that you own")


def _show_game(game: str, as_json: bool) -> None:
    about = api.show_game(game)
    if as_json:
        typer.echo(json.dumps(about.to_json(), indent=2, ensure_ascii=False))
        return
    rom = about.rom or f"not here; `gymnast roms import DIR` imports it (sha1 {' or '.join(about.sha1)})"
    lines = {
        "environment": about.id,
        "console": about.console,
        "ROM": rom,
        "states": ", ".join(about.states) or "none",
        "starts at": about.default_state or "the beginning",
        "buttons": ", ".join(about.buttons),
        "actions": ", ".join(about.actions),
        "variables": ", ".join(about.variables),
        "scenarios": ", ".join(about.scenarios),
        "reward parts": ", ".join(about.reward_parts) or "none of its own",
    }
    for name, value in lines.items():
        typer.echo(f"{name + ':':<14}{value}")
