"""The sections that say how long to train, when to stop, and what to keep."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from gymnast.config.values import Count, PositiveCount, Seconds, Section


class BudgetConfig(Section):
    """Training ends when any of these is spent. Schedules follow the step budget."""

    env_steps: PositiveCount | None = Field(None, description="Single-env steps in total.")
    vec_steps: PositiveCount | None = Field(
        None, description="Vectorised steps (env steps / n_envs) in total."
    )
    wall_time: Seconds | None = Field(None, description="Seconds of training, e.g. 10m; resumes add up.")

    @model_validator(mode="after")
    def _one_step_budget(self) -> BudgetConfig:
        if self.env_steps is not None and self.vec_steps is not None:
            raise ValueError("give env_steps or vec_steps, not both")
        return self


class StopConfig(Section):
    """Scores that end training at once."""

    eval_return: float | Literal["solved"] | None = Field(
        "solved", description="Mean evaluation return; `solved` takes the env's threshold, null never stops."
    )
    train_return: float | None = Field(None, description="Mean return of the last 100 training episodes.")


class CheckpointConfig(Section):
    """When weights and training state are written. The best and the last are always kept."""

    every: Count = Field(
        0, description="Env steps between checkpoints; 0: only by time, at evaluations and at the end."
    )
    seconds: Seconds = Field(30.0, description="Also after this many seconds without one; 0 turns it off.")
    keep: PositiveCount = Field(5, description="Newest checkpoints kept, beside the best.")
