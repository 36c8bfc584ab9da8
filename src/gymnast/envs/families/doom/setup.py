"""A game of the engine as scenario and settings want it, not yet started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vizdoom

from gymnast.envs.families.doom.scenarios import Scenario
from gymnast.envs.families.doom.settings import VizDoomConfig
from gymnast.envs.families.doom.wad import Wad, checked_map, read_wad
from gymnast.errors import GymnastError, did_you_mean

_PACKAGE = Path(vizdoom.root_path)
VARIABLES: dict[str, Any] = dict(vizdoom.GameVariable.__members__)


def scenario_game(scenario: Scenario, settings: VizDoomConfig, *, in_colours: bool) -> vizdoom.DoomGame:
    """The scenario's own rules, with our window, sound and screen."""
    game = vizdoom.DoomGame()
    game.load_config(str(Path(vizdoom.scenarios_path) / scenario.config))
    game.set_mode(vizdoom.Mode.PLAYER)
    game.set_window_visible(False)
    game.set_sound_enabled(False)
    # Some scenarios ask for them, and the engine waits for a sound card that may not be there.
    game.set_audio_buffer_enabled(False)
    game.set_automap_buffer_enabled(False)
    game.set_render_messages(False)
    game.set_screen_format(vizdoom.ScreenFormat.RGB24 if in_colours else vizdoom.ScreenFormat.GRAY8)
    width, _, height = settings.resolution.partition("x")
    game.set_screen_resolution(vizdoom.ScreenResolution.__members__[f"RES_{width}X{height}"])
    if settings.hud is not None:
        game.set_render_hud(settings.hud)
    if settings.doom_skill is not None:
        game.set_doom_skill(settings.doom_skill)
    return game


def choose_map(game: vizdoom.DoomGame, scenario: Scenario, state: str | None, wad: str | None) -> None:
    """Set the map, and the files that it is in: all by absolute paths, and known to be there."""
    own = read_wad(Path(wad).expanduser().absolute()) if wad is not None else None
    if scenario.whole_game:
        shipped = [read_wad(_PACKAGE / "freedoom1.wad"), read_wad(_PACKAGE / "freedoom2.wad")]
        known = shipped if own is None else [own]
        _set_map(game, *checked_map(state or _first_map(known), known))
        return
    if own is not None and not own.is_game:
        raise GymnastError(
            f"env.vizdoom.wad: {own.path.name} has maps alone (PWAD); a scenario, which brings its own map,"
            " needs a whole game (IWAD)"
        )
    game.set_doom_game_path(str(own.path if own is not None else _PACKAGE / "freedoom2.wad"))
    file = Path(vizdoom.scenarios_path) / Path(game.get_doom_scenario_path()).name
    game.set_doom_scenario_path(str(file))
    if state is not None:
        game.set_doom_map(checked_map(state, [read_wad(file)])[0])


def _first_map(wads: Sequence[Wad]) -> str:
    maps = [name for wad in wads for name in wad.maps]
    return "E1M1" if "E1M1" in maps or not maps else maps[0]


def _set_map(game: vizdoom.DoomGame, name: str, wad: Wad) -> None:
    """Maps of a whole game, or of a file that needs one: Freedoom then gives monsters and pictures."""
    if wad.is_game:
        game.set_doom_game_path(str(wad.path))
    else:
        base = "freedoom1.wad" if name.startswith("E") else "freedoom2.wad"
        game.set_doom_game_path(str(_PACKAGE / base))
        game.set_doom_scenario_path(str(wad.path))
    game.set_doom_map(name)


def known_buttons() -> dict[str, Any]:
    """Buttons that are held or not; those that take a number are none that a choice could press."""
    members = dict(vizdoom.Button.__members__)
    return {name: button for name, button in members.items() if vizdoom.is_binary_button(button)}


def game_variables(game: vizdoom.DoomGame, wanted: Sequence[str] | str) -> list[tuple[str, Any]]:
    """The variables to show, by name."""
    if isinstance(wanted, str):
        return [(variable.name, variable) for variable in game.get_available_game_variables()]
    found = []
    for name in wanted:
        spelled = name.strip().upper()
        if spelled not in VARIABLES:
            raise GymnastError(
                f"env.vizdoom.variables: there is no game variable '{name}'{did_you_mean(spelled, VARIABLES)}"
            )
        found.append((spelled, VARIABLES[spelled]))
    return found
