"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["solved", "finished", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Solved: an evaluation reached the threshold and training stopped there. Finished: the budget
    is spent or another stop rule fired. Interrupted: stopped on request and saved; it can be resumed."""

    status: Status
    reason: str
    env_steps: int
    seconds: float
    best_score: float | None
    last_score: float | None
    solved: bool
