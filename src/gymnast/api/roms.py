"""Console games: import the user's own ROMs, and describe which games are there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import util
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, MissingExtra, did_you_mean


@dataclass(frozen=True, slots=True)
class ImportedRoms:
    """What was found in a folder."""

    folder: Path  # where ROMs are kept
    games: dict[str, str]  # game → the file that was taken
    already: dict[str, str]  # was there before
    unknown: tuple[str, ...]  # look like ROMs, but are not known
    unreadable: dict[str, str]  # file → why

    def to_json(self) -> dict[str, Any]:
        """What `gymnast roms import --json` prints."""
        return {
            "folder": str(self.folder),
            "imported": [{"game": game, "file": file} for game, file in self.games.items()],
            "already": [{"game": game, "file": file} for game, file in self.already.items()],
            "unknown": list(self.unknown),
            "unreadable": [{"file": file, "reason": reason} for file, reason in self.unreadable.items()],
        }


@dataclass(frozen=True, slots=True)
class Game:
    """A game whose ROM is there."""

    game: str
    id: str  # what `gymnast train` takes
    console: str
    states: int
    default_state: str | None
    rom: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GameDetails:
    """All that is known of one game, with its ROM or without."""

    game: str
    id: str
    console: str
    rom: str | None
    sha1: list[str]
    states: list[str]
    default_state: str | None
    buttons: list[str]
    actions: list[str]
    variables: list[str]
    scenarios: list[str]
    reward_parts: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def import_roms(source: str | Path) -> ImportedRoms:
    """Keep every ROM below a folder (or one file) that stable-retro knows by its hash."""
    _need_library()
    from gymnast.envs.families.retro import importing

    found = importing.import_roms(Path(source))
    return ImportedRoms(found.folder, found.games, found.already, tuple(found.unknown), found.unreadable)


def list_games() -> list[Game]:
    """The games that can be played."""
    _need_library()
    from gymnast.envs.families.retro import library

    return [
        Game(
            game=name,
            id=library.PREFIX + name,
            console=library.system_of(rom.parent.name),
            states=len(library.states(rom.parent.name)),
            default_state=library.default_state(rom.parent.name),
            rom=str(rom),
        )
        for name, rom in library.games_with_roms().items()
    ]


def count_known_games() -> int:
    """How many games stable-retro knows, most of them without a ROM here."""
    _need_library()
    from gymnast.envs.families.retro import library

    return len(library.games())


def show_game(game: str) -> GameDetails:
    """States, buttons, variables and the rest of one game."""
    _need_library()
    from gymnast.envs.families.retro import library
    from gymnast.envs.families.retro.buttons import default_labels
    from gymnast.envs.families.retro.tables import LEVELS_DONE, TABLES, GameTable

    plain = library.short_name(game.removeprefix(library.PREFIX))
    known = library.games()
    if plain not in known:
        raise GymnastError(f"there is no game '{plain}'{did_you_mean(plain, known)}; see `gymnast roms list`")
    folder, table = known[plain], TABLES.get(plain, GameTable())
    system, rom = library.system_of(folder), library.rom_path(folder)
    return GameDetails(
        game=plain,
        id=library.PREFIX + plain,
        console=system,
        rom=None if rom is None else str(rom),
        sha1=library.hashes(folder),
        states=sorted({*library.states(folder), *table.made_states}),
        default_state=library.default_state(folder),
        buttons=[button for button in library.buttons(system) if button is not None],
        actions=list(table.actions or default_labels(library.button_groups(system))),
        variables=[*library.variables(folder), *table.variables, LEVELS_DONE],
        scenarios=library.scenarios(folder),
        reward_parts=list(table.rewards),
    )


def _need_library() -> None:
    if util.find_spec("stable_retro") is None:
        raise MissingExtra("gymnast roms", "retro")
