"""`gymnast roms`: import the console games that you own, and list which are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.program import program
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_entry, echo_json

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
        echo_json(result.to_json())
    else:
        _print_imported(result)
    if not result.games and not result.already:
        raise GymnastError(f"no ROM in {source} is one that stable-retro knows")


def _print_imported(result: ImportedRoms) -> None:
    for game, file in result.games.items():
        echo(f"imported {game}  ({file})")
    if result.already:
        echo(f"already there: {', '.join(result.already)}")
    for file in result.unknown:
        echo(f"unknown: {file}")
    for file, reason in result.unreadable.items():
        echo(f"not readable: {file} ({reason})")
    count = len(result.games)
    if count:
        echo(f"{count} game{'' if count == 1 else 's'} imported into {result.folder}")
        echo(f"\nTrain one: {program()} train Retro/{next(iter(result.games))}:ppo")


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
        echo_json([game.to_json() for game in found])
        return
    from gymnast.terminal.screen import Table, screen

    table = Table("environment", "console", "states", "starts at", box=None, pad_edge=False)
    for game in found:
        cells = (game.id, game.console, game.states, game.default_state or "the beginning")
        table.add_row(*(str(cell) for cell in cells))
    screen().print(table)
    known = api.count_known_games()
    echo(f"\n{known:,} games are known; `gymnast roms import DIR` imports those that you own", wrap=True)


def _show_game(game: str, as_json: bool) -> None:
    about = api.show_game(game)
    if as_json:
        echo_json(about.to_json())
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
        echo_entry(f"{name + ':':<14}{value}")
