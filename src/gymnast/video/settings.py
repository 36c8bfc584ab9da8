"""The `video` section: what is recorded while a run trains."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymnast.config.values import PositiveCount, Section


class VideoConfig(Section):
    """Videos of evaluation episodes, in the run's `videos` folder. Needs the extra `video`."""

    record: Literal["never", "best", "every"] = Field(
        "never",
        description="best: the best checkpoint, once the run is over; every: with every evaluation, while"
        " training waits.",
    )
    episodes: PositiveCount = Field(1, description="Episodes of a video.")
    max_steps: PositiveCount = Field(5000, description="A video ends after this many steps in all.")
    fps: float | None = Field(
        None, gt=0, le=240, description="Steps shown per second; the real speed of the game if unset."
    )
