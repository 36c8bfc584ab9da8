"""NovelD: steps from the known into the new pay (Zhang et al., 2021, NeurIPS).

Novelty is RND's error. A step earns max(novelty(s′) - α novelty(s), 0) on the first visit of the cell of s′
in the episode, so there is nothing to gain from going back and forth across the border.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from gymnast.parts.bonus import BonusSettings
from gymnast.parts.cells import AutoCells, CellsConfig
from gymnast.parts.rnd import RND, RNDConfig
from gymnast.parts.visits import episode_begins

if TYPE_CHECKING:
    from gymnast.parts.visits import Visited
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions


class NovelDConfig(RNDConfig):
    """What RND's error gains from one observation to the next, on the first visit in an episode."""

    name: Literal["noveld"] = "noveld"  # type: ignore[assignment]
    alpha: float = Field(0.5, ge=0, description="How much of the last observation's novelty is subtracted.")
    cells: CellsConfig = Field(default_factory=AutoCells, description="What counts as the same place.")


class NovelD(RND):
    Settings: ClassVar[type[BonusSettings]] = NovelDConfig
    name = "noveld"
    counts_episodes = True
    config: NovelDConfig

    def bonus(self, rollout: Rollout, steps: Transitions, visited: Visited | None) -> np.ndarray:
        assert visited is not None
        assert visited.in_episode is not None
        after = self.next_novelty(steps)
        before = np.empty_like(after)
        before[1:] = after[:-1]  # a step begins where the last one led to …
        first = episode_begins(rollout)
        first[0] = True
        before[first] = self.novelty(steps.obs[first])  # … except for the first one of an episode or rollout
        gain = np.maximum(after - np.float32(self.config.alpha) * before, 0.0)
        return gain * (visited.in_episode == 1)
