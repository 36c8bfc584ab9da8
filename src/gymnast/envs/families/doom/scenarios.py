"""The scenarios by id: which file of the package each is, and what it is about."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the package, or whole maps of the game."""

    config: str  # file among the package's scenarios: buttons, rewards, timeout
    description: str
    max_pressed: int  # buttons held at once, unless the settings say otherwise
    buttons: tuple[str, ...] | None = None  # those worth learning with, where the file lists more
    whole_game: bool = False  # maps of a game's WAD instead of a scenario's own


_WALK = ("MOVE_FORWARD", "MOVE_BACKWARD", "TURN_LEFT", "TURN_RIGHT", "MOVE_LEFT", "MOVE_RIGHT")

SCENARIOS: dict[str, Scenario] = {
    "VizDoom-Basic-v0": Scenario("basic.cfg", "Move in front of a monster and shoot it.", 2),
    "VizDoom-DeadlyCorridor-v0": Scenario(
        "deadly_corridor.cfg", "Reach the vest at the end of a corridor lined with shooting monsters.", 2
    ),
    "VizDoom-DefendTheCenter-v0": Scenario(
        "defend_the_center.cfg", "Turn on the spot and shoot what comes near, with 26 rounds.", 2
    ),
    "VizDoom-DefendTheLine-v0": Scenario(
        "defend_the_line.cfg", "Hold a line against monsters that come back stronger.", 2
    ),
    "VizDoom-HealthGathering-v0": Scenario(
        "health_gathering.cfg", "Stay alive on an acid floor by picking up medikits.", 2
    ),
    "VizDoom-HealthGatheringSupreme-v0": Scenario(
        "health_gathering_supreme.cfg", "The same in a maze, with vials of poison among the medikits.", 2
    ),
    "VizDoom-MyWayHome-v0": Scenario("my_way_home.cfg", "Find the vest in a maze of rooms.", 2),
    "VizDoom-PredictPosition-v0": Scenario(
        "predict_position.cfg", "Hit a running monster with the one slow rocket there is.", 2
    ),
    "VizDoom-TakeCover-v0": Scenario("take_cover.cfg", "Dodge the fireballs for as long as you can.", 1),
    "VizDoom-Deathmatch-v0": Scenario(
        "deathmatch.cfg",
        "Fight ever new monsters in an arena full of weapons.",
        2,
        (*_WALK, "ATTACK", "SPEED", "SELECT_NEXT_WEAPON"),
    ),
    "VizDoom-E1M1-v0": Scenario(
        "freedoom1.cfg",
        "A whole map of the game: find the way, open doors, get to the exit alive.",
        2,
        (*_WALK, "ATTACK", "USE"),
        whole_game=True,
    ),
}


def register_scenarios() -> None:
    """Make their ids known to Gymnasium."""
    for env_id in SCENARIOS:
        if env_id not in gym.registry:
            gym.register(
                env_id, entry_point="gymnast.envs.families.doom.env:DoomEnv", kwargs={"scenario": env_id}
            )
