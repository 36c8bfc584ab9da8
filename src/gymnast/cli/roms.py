"""`gymnast roms`: take in the console games that you own, and see which are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymnast.errors import GymnastError, MissingExtra, did_you_mean

if TYPE_CHECKING:
    from gymnast.envs.families.retro.importing import Imported

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
    """Take in every ROM below a folder that stable-retro knows, by its hash.

    Your files are left as they are. Copies are kept in your data folder (GYMNAST_ROMS_DIR, else
    gymnast/roms in XDG_DATA_HOME or ~/.local/share); nothing is sent anywhere.

    \b
    Examples:
      gymnast roms import ~/roms
      gymnast roms import mario.zip
    """
    _need_library()
    from gymnast.envs.families.retro.importing import import_roms

    result = import_roms(source)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2, ensure_ascii=False))
    else:
        _print_imported(result, source)
    if not result.games and not result.already:
        raise GymnastError(f"no ROM in {source} is one that stable-retro knows")


def _print_imported(result: Imported, source: Path) -> None:
    for game, file in result.games.items():
        typer.echo(f"imported {game}  ({file})")
    if result.already:
        typer.echo(f"there before: {', '.join(result.already)}")
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
    _need_library()
    if game is None:
        _list_games(as_json)
    else:
        _show_game(game, as_json)


def _list_games(as_json: bool) -> None:
    from gymnast.envs.families.retro import library

    rows = []
    for name, rom in library.games_with_roms().items():
        folder = rom.parent.name
        rows.append(
            {
                "game": name,
                "id": library.PREFIX + name,
                "console": library.system_of(folder),
                "states": len(library.states(folder)),
                "default_state": library.default_state(folder),
                "rom": str(rom),
            }
        )
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("environment", "console", "states", "starts at", box=None, pad_edge=False)
    for row in rows:
        cells = (row["id"], row["console"], row["states"], row["default_state"] or "the beginning")
        table.add_row(*(Text(str(cell)) for cell in cells))
    Console().print(table)
    known = len(library.games())
    typer.echo(f"\n{known:,} games are known; `gymnast roms import DIR` takes in those that you own")


def _show_game(game: str, as_json: bool) -> None:
    about = _about(game)
    if as_json:
        typer.echo(json.dumps(about, indent=2, ensure_ascii=False))
        return
    rom = (
        about["rom"] or f"not here; `gymnast roms import DIR` takes it in (sha1 {' or '.join(about['sha1'])})"
    )
    lines = {
        "environment": about["id"],
        "console": about["console"],
        "ROM": rom,
        "states": ", ".join(about["states"]) or "none",
        "starts at": about["default_state"] or "the beginning",
        "buttons": ", ".join(about["buttons"]),
        "actions": ", ".join(about["actions"]),
        "variables": ", ".join(about["variables"]),
        "scenarios": ", ".join(about["scenarios"]),
        "reward parts": ", ".join(about["reward_parts"]) or "none of its own",
    }
    for name, value in lines.items():
        typer.echo(f"{name + ':':<14}{value}")


def _about(game: str) -> dict[str, Any]:
    from gymnast.envs.families.retro import library
    from gymnast.envs.families.retro.buttons import default_labels
    from gymnast.envs.families.retro.tables import LEVELS_DONE, TABLES, GameTable

    plain = library.short_name(game.removeprefix(library.PREFIX))
    known = library.games()
    if plain not in known:
        raise GymnastError(f"there is no game '{plain}'{did_you_mean(plain, known)}; see `gymnast roms list`")
    folder, table = known[plain], TABLES.get(plain, GameTable())
    system, rom = library.system_of(folder), library.rom_path(folder)
    return {
        "game": plain,
        "id": library.PREFIX + plain,
        "console": system,
        "rom": None if rom is None else str(rom),
        "sha1": library.hashes(folder),
        "states": sorted({*library.states(folder), *table.made_states}),
        "default_state": library.default_state(folder),
        "buttons": [button for button in library.buttons(system) if button is not None],
        "actions": list(table.actions or default_labels(library.button_groups(system))),
        "variables": [*library.variables(folder), *table.variables, LEVELS_DONE],
        "scenarios": library.scenarios(folder),
        "reward_parts": list(table.rewards),
    }


def _need_library() -> None:
    from importlib.util import find_spec

    if find_spec("stable_retro") is None:
        raise MissingExtra("gymnast roms", "retro")
