"""Count bonus: what was rarely visited pays more (Strehl and Littman, 2008; Bellemare et al., 2016).

Bonuses over the run and within the episode are multiplied. The first wins where episodes share most of
their places (one fixed map), the second where they share little (generated levels), and their product
does well in both (Henaff et al., 2023, arXiv:2306.03236).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from gymnast.parts.bonus import Bonus, BonusSettings, Weight
from gymnast.parts.cells import AutoCells, CellsConfig

if TYPE_CHECKING:
    from gymnast.parts.visits import Visited
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions


class CountConfig(BonusSettings):
    """1/√n of the cell that a step leads to, n its visits so far, this one included."""

    name: Literal["count"] = "count"
    weight: Weight = Field(
        0.1,
        description="Weight of the bonus's advantages beside those of the environment's reward. Schedulable.",
    )
    cells: CellsConfig = Field(default_factory=AutoCells, description="What counts as the same place.")
    lifelong: bool = Field(True, description="Factor 1/√n, n the visits since the run began.")
    episodic_bonus: Literal["first", "inverse_sqrt", "none"] = Field(
        "first",
        description="Factor for visits in this episode: first: 1 for the first visit, else 0; "
        "inverse_sqrt: 1/√n; none: 1.",
    )

    @model_validator(mode="after")
    def _counts_something(self) -> CountConfig:
        if not self.lifelong and self.episodic_bonus == "none":
            raise ValueError("lifelong: false with episodic_bonus: none counts nothing; use one of the two")
        return self


class Count(Bonus):
    """Counts are kept for all envs together."""

    Settings: ClassVar[type[BonusSettings]] = CountConfig
    name = "count"
    counts_episodes = True
    config: CountConfig

    def bonus(self, rollout: Rollout, steps: Transitions, visited: Visited | None) -> np.ndarray:
        assert visited is not None
        assert visited.in_episode is not None
        bonus = 1.0 / np.sqrt(visited.in_run) if self.config.lifelong else np.ones(visited.in_run.shape)
        match self.config.episodic_bonus:
            case "first":
                bonus *= visited.in_episode == 1
            case "inverse_sqrt":
                bonus /= np.sqrt(visited.in_episode)
        return bonus
