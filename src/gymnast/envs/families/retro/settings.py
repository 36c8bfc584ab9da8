"""The `env.retro` section: how a console game is played, seen and rewarded."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from gymnast.config.values import Count, Fraction, PositiveCount, Section

Counts = Literal["change", "gain", "loss"]


class RewardPart(Section):
    """One share of the shaped reward: a weight times what a variable of the game gained or lost in a step.

    Of a part that the game's table knows (`progress: {}`), what is left out is taken from there.
    """

    variable: str | None = Field(None, description="A variable of the game; see `gymnast roms list GAME`.")
    counts: Counts | None = Field(
        None, description="Any change (the default), gains alone, or losses alone, as a positive number."
    )
    weight: float | None = Field(None, description="What one unit is worth.")
    limit: float | None = Field(
        None, gt=0, description="A larger change in one step is a new level or a reset, and counts 0."
    )

    @model_validator(mode="before")
    @classmethod
    def _weight_alone(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return {"weight": value} if number else value


class CropConfig(Section):
    """Pixels cut off the console's own screen on each side."""

    top: Count = Field(0, description="Rows cut off above.")
    bottom: Count = Field(0, description="Rows cut off below.")
    left: Count = Field(0, description="Columns cut off on the left.")
    right: Count = Field(0, description="Columns cut off on the right.")


class RegionConfig(Section):
    """A rectangle of the console's own screen (after `crop`), in pixels."""

    top: Count = Field(0, description="Its first row.")
    left: Count = Field(0, description="Its first column.")
    height: PositiveCount | None = Field(None, description="Rows; to the lower edge if unset.")
    width: PositiveCount | None = Field(None, description="Columns; to the right edge if unset.")


class RetroConfig(Section):
    """Of environments Retro/<Game>; docs/retro.md explains each."""

    obs: Literal["pixels", "ram"] = Field("pixels", description="The screen, or the console's memory.")
    crop: CropConfig = Field(default_factory=CropConfig, description="Of pixels: edges to cut off.")
    hide: tuple[RegionConfig, ...] = Field((), description="Of pixels: regions painted black, such as a HUD.")
    grayscale: bool = Field(True, description="Of pixels: brightness alone instead of RGB.")
    size: tuple[PositiveCount, PositiveCount] | None = Field(
        (84, 84), description="Of pixels: height and width; the console's own if null."
    )
    frame_skip: PositiveCount = Field(4, description="Frames that an action is held for.")
    random_frame_skip: tuple[PositiveCount, PositiveCount] | None = Field(
        None, description="In training: least and most frames instead, drawn at every step."
    )
    sticky: Fraction = Field(
        0.25, description="In training: chance in each frame that the buttons stay as they were."
    )
    noop_max: Count = Field(30, description="A game starts after up to so many random frames without action.")
    scenario: str | None = Field(None, description="Of the game's own: how it pays and ends; see docs.")
    end_on_level: bool = Field(False, description="A finished level ends the episode.")
    end_on_life: bool = Field(False, description="In training: a lost life ends the episode.")
    no_progress_steps: PositiveCount | None = Field(
        None, description="An episode is cut off after so many steps without a gain."
    )
    own_reward: float = Field(1.0, description="In training: weight of the game's own reward.")
    rewards: dict[str, RewardPart] = Field(
        default_factory=dict, description="In training: further rewards by name, each a metric."
    )
    variables: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="Variables made of others, as sums: {progress: {hi: 256, lo: 1}}."
    )
    level: tuple[str, ...] | None = Field(None, description="Variables that tell levels apart.")
    lives: str | None = Field(None, description="The variable that counts lives.")
