"""Which updates are observed: a function of their number alone, so a resumed run observes the same ones."""

from __future__ import annotations

from dataclasses import dataclass

FIRST = 10  # updates that are all observed: what goes wrong at once is seen at once
_LEAST_GAP, _GAP_WITHOUT_BUDGET = 8, 16
# Between two, so many samples are learned from, epochs counted: an observation has its price, about 1 ms. To
# collect a sample costs as much as some epochs of learning from it.
_LEAST_WORK, _COLLECTING = 75_000, 3
_MOST = 200  # observations over a run


@dataclass(frozen=True, slots=True)
class Cadence:
    """The first updates, then every `gap`-th; without a budget rarer and rarer, as the run grows."""

    gap: int
    widens: bool = False

    def due(self, update: int) -> bool:
        """Whether the update with this number, from 1 on, is observed."""
        if update <= FIRST:
            return True
        gap = self.gap
        while self.widens and update > gap * _MOST:
            gap *= 2
        return update % gap == 0


def build_cadence(total_steps: int | None, rollout_steps: int, n_epochs: int = 1) -> Cadence:
    """For a budget in env steps (None: only time ends the run), and env steps and epochs of an update."""
    least = max(_LEAST_GAP, -(-_LEAST_WORK // (rollout_steps * (_COLLECTING + n_epochs))))
    if total_steps is None:
        return Cadence(max(_GAP_WITHOUT_BUDGET, least), widens=True)
    updates = -(-total_steps // rollout_steps)
    return Cadence(max(least, -(-updates // _MOST)))
