"""The `video` section: what is filmed while a run trains."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymnast.config.values import PositiveCount, Section


class VideoConfig(Section):
    """Films of evaluation episodes, in the run's `videos` folder. Needs the extra `video`."""

    record: Literal["never", "best", "every"] = Field(
        "never",
        description="best: the best checkpoint, once the run is over; every: with every evaluation, while"
        " training waits.",
    )
    episodes: PositiveCount = Field(1, description="Episodes of a film.")
    max_steps: PositiveCount = Field(5000, description="A film ends after this many steps, wherever it is.")
    fps: float | None = Field(
        None, gt=0, le=240, description="Steps shown a second; as fast as the game really is if unset."
    )
