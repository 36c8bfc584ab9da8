"""Where games, their data and the user's ROMs are, by stable-retro's folders and the user's own.

The library keeps a folder a game: `data.json` (variables in memory), `scenario.json` (rewards and ends),
`*.state` (where one can start). ROMs are the user's: they lie in a folder of theirs with the same layout,
where states and data of their own are found too. `Airstriker-Genesis-v0`, as the library calls it, is
`Airstriker-Genesis` here.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import stable_retro
import stable_retro.data
from gymnasium.envs.registration import EnvSpec

from gymnast.errors import GymnastError, did_you_mean

PREFIX = "Retro/"
_VERSION = re.compile(r"-v(\d+)$")
_INTEGRATIONS = ("contrib", "experimental", "stable")


def roms_folder() -> Path:
    """The user's own: GYMNAST_ROMS_DIR, or `gymnast/roms` in the user's data folder."""
    own = os.environ.get("GYMNAST_ROMS_DIR")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "gymnast" / "roms"


def integrations() -> Any:
    """What to look games up with in stable-retro: all of its own, and the user's folder if it is there."""
    kinds, folder = stable_retro.data.Integrations, roms_folder().absolute()
    kinds.clear_custom_paths()  # the folder may be another than before
    if folder.is_dir():
        kinds.add_custom_path(str(folder))
    return kinds.ALL


def _folders() -> list[Path]:
    """Every folder of games, the user's first."""
    return [roms_folder(), *(Path(stable_retro.data.path()) / name for name in _INTEGRATIONS)]


def short_name(folder: str) -> str:
    """A game's name without the version that the library appends."""
    return _VERSION.sub("", folder)


def games() -> dict[str, str]:
    """Every game that is known, with a ROM or without: its name, and the folder it has in the library."""
    found: dict[str, str] = {}
    for base in _folders():
        for entry in base.iterdir() if base.is_dir() else ():
            if entry.name[0] in "._" or not entry.is_dir():
                continue
            other = found.get(short_name(entry.name))
            if other is None or _version(entry.name) > _version(other):
                found[short_name(entry.name)] = entry.name
    return dict(sorted(found.items()))


def _version(folder: str) -> int:
    match = _VERSION.search(folder)
    return int(match[1]) if match else -1


def game_folder(name: str) -> str:
    """The library's folder of a game; `name` with or without version, or as an id."""
    plain = short_name(name.removeprefix(PREFIX))
    known = games()
    if plain not in known:
        raise GymnastError(f"there is no game '{plain}'{did_you_mean(plain, known)}")
    return known[plain]


def rom_path(folder: str) -> Path | None:
    """The ROM of a game, or None if it is not here."""
    try:
        return Path(stable_retro.data.get_original_romfile_path(folder, integrations()))
    except FileNotFoundError:
        return None


def games_with_roms() -> dict[str, Path]:
    """The games that can be played: their names and ROMs."""
    extensions = {f"rom{extension}" for extension in stable_retro.data.EMU_EXTENSIONS}
    found: dict[str, Path] = {}
    for base in _folders():
        for rom in base.glob("*/rom.*"):
            if rom.name in extensions:
                found.setdefault(short_name(rom.parent.name), rom)
    return dict(sorted(found.items()))


def system_of(folder: str) -> str:
    """The console, from the game's name."""
    return short_name(folder).rsplit("-", 1)[-1]


def states(folder: str) -> list[str]:
    """Where the game can start; files that begin with `_` are the library's own drafts."""
    paths = [path for base in _folders() for path in (base / folder).glob("*.state")]
    return sorted({path.stem for path in paths if not path.name.startswith("_")})


def default_state(folder: str) -> str | None:
    """Where the game starts by default."""
    state = _json(folder, "metadata.json").get("default_state")
    return None if state is None else str(state)


def variables(folder: str) -> list[str]:
    """What can be read from the game's memory, by name."""
    return sorted(_json(folder, "data.json").get("info", {}))


def hashes(folder: str) -> list[str]:
    """The sha1 of each ROM that is this game; of an NES ROM without its header."""
    path = stable_retro.data.get_file_path(folder, "rom.sha", integrations())
    return [] if path is None else Path(path).read_text().split()


def known_hashes() -> dict[str, tuple[str, str]]:
    """The sha1 of every ROM that is known → its game's folder and the file name that the library wants."""
    known: dict[str, tuple[str, str]] = {}
    shipped = {entry.name for base in _folders()[1:] if base.is_dir() for entry in base.iterdir()}
    # Where a game of the user's own has the same ROM, the library's keeps it.
    for folder in sorted(games().values(), key=lambda folder: folder not in shipped):
        system = system_of(folder)
        core = stable_retro.data.EMU_INFO.get(system)
        if core is None and system != "Arcade":
            continue  # nothing here could play it
        extension = core["ext"][0] if core is not None else "zip"
        for sha1 in hashes(folder):
            known.setdefault(sha1.lower(), (folder, f"rom.{extension}"))
    return known


def scenarios(folder: str) -> list[str]:
    """The ways in which the game can pay and end."""
    return list(stable_retro.data.list_scenarios(folder, integrations()))


def buttons(system: str) -> list[str | None]:
    """A console's buttons in the order of its mask; None where there is none."""
    return list(_core(system)["buttons"])


def button_groups(system: str) -> list[list[list[str]]]:
    """What can be pressed together: one of each group."""
    return [[list(combination) for combination in group] for group in _core(system)["actions"]]


def _core(system: str) -> dict[str, Any]:
    known: dict[str, dict[str, Any]] = stable_retro.data.EMU_INFO
    if system not in known:
        raise GymnastError(
            f"stable-retro has no emulator for '{system}'{did_you_mean(system, known)};"
            f" it has {', '.join(sorted(known))}"
        )
    return known[system]


def _json(folder: str, name: str) -> dict[str, Any]:
    path = stable_retro.data.get_file_path(folder, name, integrations())
    if path is None:
        return {}
    try:
        content = json.loads(Path(path).read_text())
    except ValueError as error:
        raise GymnastError(f"{path} is not JSON: {error}") from error
    return content if isinstance(content, dict) else {}


def register_games() -> None:
    """Make every game known to Gymnasium as `Retro/<Game>`; building one shows whether its ROM is there."""
    # Straight into the registry: `gym.register` compares each with all others, a second for a thousand.
    for name in games():
        spec = EnvSpec(
            PREFIX + name, entry_point="gymnast.envs.families.retro.game:RetroGame", kwargs={"game": name}
        )
        gym.registry.setdefault(spec.id, spec)


def games_without_rom() -> set[str]:
    """Ids that cannot be played: the library knows a thousand games, of which few are there."""
    return {PREFIX + name for name in games().keys() - games_with_roms().keys()}
