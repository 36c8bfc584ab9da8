"""How a run's score develops, in bounded memory: whether it rises, has stalled, or has fallen."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

MOST_POINTS = 256
FIRST_SCORES = 5


class ScoreHistory:
    """Scores by env steps, thinned to every second one whenever there are too many: memory stays flat, and
    what is kept is the same after a resume."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []
        self.first: list[float] = []  # the first few, which thinning must not lose
        self.best: tuple[int, float] | None = None
        self._every = 1  # rows for each point kept
        self._skipped = 0
        self._seen = 0  # scores since this object was made
        self._flat: dict[float, tuple[int, bool]] = {}  # by share: what was answered, after how many scores

    def add(self, step: int, score: float) -> None:
        self._seen += 1
        if len(self.first) < FIRST_SCORES:
            self.first.append(score)
        if self.best is None or score > self.best[1]:
            self.best = (step, score)
        self._skipped += 1
        if self._skipped < self._every:
            return
        self._skipped = 0
        self.points.append((step, score))
        if len(self.points) >= MOST_POINTS:
            self.points = self.points[1::2]
            self._every *= 2

    @property
    def start(self) -> float | None:
        """What an untrained policy scores: the lowest of the first scores."""
        return min(self.first) if self.first else None

    def at(self, step: int) -> float | None:
        """The score at a step, as near as points are kept."""
        if not self.points:
            return None
        return min(self.points, key=lambda point: abs(point[0] - step))[1]

    @property
    def range(self) -> float:
        """Highest minus lowest score so far."""
        scores = [score for _, score in self.points]
        return max(scores) - min(scores) if scores else 0.0

    @property
    def noise(self) -> float:
        """About the standard deviation of a score around its trend: a few large steps do not change it."""
        steps = [abs(after[1] - before[1]) for before, after in pairwise(self.points)]
        return 1.05 * median(steps) if steps else 0.0

    def flat(self, share: float = 0.25) -> bool:
        """Whether the last `share` of the steps so far gained less than 5 % of the range, or nothing.

        False with fewer than 8 points: too little is known.
        """
        known = self._flat.get(share)  # many rules ask the same
        if known is None or known[0] != self._seen:
            known = self._flat[share] = (self._seen, self._is_flat(share))
        return known[1]

    def _is_flat(self, share: float) -> bool:
        before, after = self._parts(share)
        if len(before) < 4 or len(after) < 4:
            return False
        gain = sum(after) / len(after) - sum(before[-len(after) :]) / len(before[-len(after) :])
        return gain <= 0.05 * self.range or math.isclose(self.range, 0.0)

    def _parts(self, share: float) -> tuple[list[float], list[float]]:
        if not self.points:
            return [], []
        border = self.points[-1][0] * (1 - share)
        before = [score for step, score in self.points if step <= border]
        return before, [score for step, score in self.points if step > border]

    def state(self) -> dict[str, Any]:
        points = np.array([*self.points, *([] if self.best is None else [self.best])]).reshape(-1, 2)
        return {"points": points, "first": list(self.first), "every": self._every, "skipped": self._skipped}

    def load_state(self, state: dict[str, Any]) -> None:
        self.points = [(int(step), score) for step, score in state["points"].tolist()]
        self.best = self.points.pop() if self.points else None
        # Checkpoints of before have only the points.
        self.first = list(state.get("first", [score for _, score in self.points[:FIRST_SCORES]]))
        self._every, self._skipped = int(state["every"]), int(state["skipped"])
