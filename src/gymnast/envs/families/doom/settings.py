"""The `env.vizdoom` section: how Doom is played, what the agent sees of it, and what else it is paid for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gymnast.config.values import PositiveCount, Section

# Heights that the engine can draw, by width.
_DRAWN: dict[int, tuple[int, ...]] = {
    160: (120,),
    200: (125, 150),
    256: (144, 160, 192),
    320: (180, 200, 240, 256),
    400: (225, 250, 300),
    512: (288, 320, 384),
    640: (360, 400, 480),
    800: (450, 500, 600),
    1024: (576, 640, 768),
    1280: (720, 800, 960, 1024),
    1400: (787, 875, 1050),
    1600: (900, 1000, 1200),
    1920: (1080,),
}
RESOLUTIONS = tuple(f"{width}x{height}" for width, heights in _DRAWN.items() for height in heights)


def _known_resolution(value: object) -> object:
    if not isinstance(value, str) or value.lower() in RESOLUTIONS:
        return value.lower() if isinstance(value, str) else value
    width, _, height = value.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise ValueError(f"{value!r} is not a resolution; write width and height like 160x120")

    def distance(known: str) -> int:
        known_width, _, known_height = known.partition("x")
        return abs(int(width) - int(known_width)) + abs(int(height) - int(known_height))

    raise ValueError(f"the engine cannot draw {value} (did you mean {min(RESOLUTIONS, key=distance)!r}?)")


class DoomRewards(Section):
    """Weights of further rewards, in training alone; each that is not 0 is a metric of its own."""

    kills: float = Field(0.0, description="For each kill.")
    damage: float = Field(0.0, description="For each point of damage done.")
    hits: float = Field(0.0, description="For each hit.")
    damage_taken: float = Field(0.0, description="For each point of damage taken; negative to punish it.")
    hits_taken: float = Field(0.0, description="For each hit taken; negative to punish it.")
    health: float = Field(0.0, description="For each point of health gained, and against each lost.")
    armor: float = Field(0.0, description="For each point of armour gained, and against each lost.")
    ammo: float = Field(0.0, description="For each round found, and against each fired, of any weapon.")
    items: float = Field(0.0, description="For each thing picked up.")
    secrets: float = Field(0.0, description="For each secret found.")
    frags: float = Field(0.0, description="For each frag.")
    progress: float = Field(
        0.0, description="For each map unit farther from the start than ever before in this episode."
    )
    exploration: float = Field(
        0.0, description="For each square of 128 map units entered for the first time in this episode."
    )
    death: float = Field(0.0, description="For dying; negative to punish it.")


class VizDoomConfig(Section):
    """Of environments VizDoom-<Scenario>-v0; docs/vizdoom.md explains each."""

    resolution: Annotated[str, BeforeValidator(_known_resolution)] = Field(
        "160x120", description="Width and height that the engine draws."
    )
    size: tuple[PositiveCount, PositiveCount] | None = Field(
        (60, 80), description="Height and width of the screen as seen; as drawn if null."
    )
    resize: Literal["area", "nearest"] = Field(
        "area", description="How the screen is made smaller: means of what a pixel covers, or single pixels."
    )
    grayscale: bool = Field(True, description="Brightness alone instead of RGB.")
    hud: bool | None = Field(None, description="Draw the status bar; as the scenario has it if unset.")
    variables: tuple[str, ...] | Literal["scenario"] = Field(
        (),
        description="Game variables seen beside the screen, such as [HEALTH, AMMO2];"
        " `scenario`: those that its file lists.",
    )
    frame_skip: PositiveCount = Field(4, description="Tics (35 a second) that an action lasts.")
    doom_skill: int | None = Field(
        None, ge=1, le=5, description="Difficulty, 1 to 5; the scenario's own if unset."
    )
    buttons: tuple[str, ...] | None = Field(
        None, description="Buttons that actions are made of; the scenario's own if unset."
    )
    max_pressed: PositiveCount | None = Field(
        None, description="Most buttons held at once; the scenario's default if unset."
    )
    wad: str | None = Field(None, description="Your own WAD file instead of the Freedoom that comes along.")
    rewards: DoomRewards = Field(
        default_factory=DoomRewards, description="In training: further rewards from game variables."
    )
