"""How much training is left, and when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gymnast.training.settings import BudgetConfig
from gymnast.training.state import TrainState


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget in env steps, whatever it was given in."""

    total_steps: int | None  # None: wall time alone
    wall_time: float | None
    in_vec_steps: bool

    @property
    def schedule_steps(self) -> int:
        """What schedules take as the whole run; one bounded by time alone has none, so they stay constant."""
        return self.total_steps or 2**62

    def progress(self, state: TrainState) -> float:
        if self.total_steps is not None:
            return min(1.0, state.env_steps / self.total_steps)
        return min(1.0, state.seconds / self.wall_time) if self.wall_time else 0.0

    def steps_spent(self, state: TrainState) -> bool:
        return self.total_steps is not None and state.env_steps >= self.total_steps

    def spent(self, state: TrainState) -> str | None:
        """Why training ends here, or None."""
        if self.steps_spent(state):
            return "the step budget is spent"
        if self.wall_time is not None and state.seconds >= self.wall_time:
            return "the wall time is spent"
        return None

    def more(self, state: TrainState) -> str:
        """The option that lets a spent run continue."""
        if self.steps_spent(state):
            return f"--max-env-steps {2 * state.env_steps}"
        return f"--wall-time {math.ceil(2 * state.seconds)}s"

    def describe(self) -> str:
        parts = [f"{self.total_steps:,} env steps"] if self.total_steps is not None else []
        parts += [f"{self.wall_time:g} s"] if self.wall_time is not None else []
        return " or ".join(parts)


def build_budget(config: BudgetConfig, n_envs: int) -> Budget:
    """Vectorised steps become env steps here, so that the rest knows one unit."""
    total = config.env_steps if config.vec_steps is None else config.vec_steps * n_envs
    return Budget(total, config.wall_time, config.vec_steps is not None)
