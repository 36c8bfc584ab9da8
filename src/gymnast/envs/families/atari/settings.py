"""The `env.atari` section: how an Atari game is played and what the agent sees of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymnast.config.values import Count, Fraction, PositiveCount, Section

Observation = Literal["pixels", "ram", "objects"]


class AtariConfig(Section):
    """Of environments ALE/<Game>-v5; docs/atari.md gives the source of each default."""

    obs: Observation = Field(
        "pixels", description="The screen, the 128 bytes of RAM, or positions and speeds read from RAM."
    )
    grayscale: bool = Field(True, description="Of pixels: brightness alone instead of RGB.")
    size: tuple[PositiveCount, PositiveCount] = Field((84, 84), description="Of pixels: height and width.")
    stack: PositiveCount = Field(4, description="Of pixels: how many of the last screens are seen.")
    frame_skip: PositiveCount = Field(4, description="Frames of the game that an action lasts.")
    max_pool: bool = Field(
        True, description="Of pixels: the brighter of the last two frames, since sprites flicker."
    )
    noop_max: Count = Field(
        30, description="A game starts after a random number of frames, fewer than this, without action."
    )
    fire_reset: bool = Field(
        True, description="FIRE is pressed for the agent when a game begins and after a lost life."
    )
    episodic_life: bool = Field(
        True, description="In training, a lost life ends the future of the return; the game continues."
    )
    episodic_point: bool = Field(
        False, description="In training, points won or lost end the future of the return; the game continues."
    )
    clip_reward: bool = Field(True, description="In training, rewards are cut to -1 … 1.")
    sticky: Fraction = Field(
        0.25,
        description="Chance in each frame that the game repeats the last action instead; 0: deterministic.",
    )
    full_actions: bool = Field(False, description="All 18 actions instead of those that the game uses.")
    max_frames: PositiveCount = Field(108_000, description="Frames after which a game is cut off.")
    mode: Count | None = Field(None, description="Mode switch of the game; its default if unset.")
    difficulty: Count | None = Field(None, description="Difficulty switch of the game; its default if unset.")
    threads: PositiveCount | None = Field(
        None, description="Threads of the native backend; one a core if unset."
    )
