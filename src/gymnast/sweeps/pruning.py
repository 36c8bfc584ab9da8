"""Which runs are given up early: first those that cannot win, then, carefully, those that hardly will.

Both rules are for single runs of the search. Rungs (W&B's hyperband) are the driver's: there a trial waits
instead of ending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gymnast.runs.store import RunFolder
from gymnast.sweeps.objective import Objective, measure, value_at

LOOKS = (0.25, 0.5)  # shares of the budget at which the second rule looks
PERCENTILE = 30.0
ENOUGH = 16  # finished trials before it does


def cannot_win(bound: float | None, incumbent: float | None) -> bool:
    """Whether the most that a run can still reach is less than what is reached already."""
    return bound is not None and incumbent is not None and bound < incumbent


def is_far_behind(own: float, others: Sequence[float]) -> bool:
    """Whether a value is below the 30th percentile of at least 16 others; more is better."""
    return len(others) >= ENOUGH and own < float(np.percentile(others, PERCENTILE))


@dataclass(slots=True)
class Pruner:
    """Looks at runs that are being trained; remembers what finished ones had at the same places."""

    objective: Objective
    budget: int
    _at: dict[tuple[str, float], float | None] = field(default_factory=dict)
    _looked: set[tuple[str, float]] = field(default_factory=set)

    def reason(self, run: RunFolder, incumbent: float | None, finished: Sequence[RunFolder]) -> str | None:
        """Why to give the run up, in words; None: it continues. `incumbent` is the best value so far."""
        measured = measure(run, self.objective, ended=False)
        if cannot_win(measured.bound, incumbent):
            return f"at most {measured.bound:.4g} from here, and {incumbent:.4g} is reached already"
        if not self.budget or len(finished) < ENOUGH:
            return None
        for share in LOOKS:
            place = (run.id, share)
            if place in self._looked or measured.env_steps < share * self.budget:
                continue
            self._looked.add(place)
            own = self._value(run, share)
            others = [value for other in finished if (value := self._value(other, share)) is not None]
            if own is not None and is_far_behind(own, others):
                return f"among the lowest {PERCENTILE:.0f} % after {share:.0%} of the budget"
        return None

    def _value(self, run: RunFolder, share: float) -> float | None:
        place = (run.id, share)
        if place not in self._at:
            value = value_at(run, self.objective, share * self.budget)
            self._at[place] = None if value is None else self.objective.sign * value
        return self._at[place]
