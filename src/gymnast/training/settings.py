"""The sections for how long to train, when to stop, what to keep, and what to change on a plateau."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from gymnast.config.values import Count, PositiveCount, Seconds, Section
from gymnast.metrics import catalogue


class BudgetConfig(Section):
    """Training ends when any of these is spent. Schedules follow the step budget."""

    env_steps: PositiveCount | None = Field(None, description="Single-env steps in total.")
    vec_steps: PositiveCount | None = Field(
        None, description="Vectorised steps (env steps / n_envs) in total."
    )
    wall_time: Seconds | None = Field(
        None,
        description="Seconds of training, e.g. 10m; resumes add up. A rollout or evaluation that does not end"
        " by itself within 2 s of it is dropped.",
    )

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
    rollout_table: bool = Field(
        True, description="Write a table of one episode's steps beside the kept checkpoints at the end."
    )


class InterventionConfig(Section):
    """One rule: what to do when a metric has stalled."""

    metric: str = Field(description="The metric to watch, e.g. `eval/return/mean`.")
    direction: Literal["higher", "lower"] | None = Field(
        None, description="Which way is better; as in the catalogue if unset."
    )
    patience: PositiveCount = Field(description="How long the metric may stall before the rule acts.")
    unit: Literal["env_steps", "updates"] = Field(
        "env_steps",
        description="What patience, cooldown and revert_after are counted in: env_steps or updates.",
    )
    min_delta: float = Field(0.0, ge=0, description="A smaller gain does not count as improvement.")
    setting: str | None = Field(None, description="The hyperparameter of `algo` to change, e.g. `lr`.")
    multiply: float | None = Field(
        None, gt=0, description="Its value is multiplied by this, once more each time the rule acts."
    )
    set: float | None = Field(None, description="Or: its value from then on.")
    stop: bool = Field(False, description="Or: the run ends.")
    low: float | None = Field(None, description="The changed value never falls below this.")
    high: float | None = Field(None, description="The changed value never rises above this.")
    cooldown: Count = Field(
        0, description="After acting, the rule does nothing for this long, then starts waiting again."
    )
    max_times: PositiveCount = Field(3, description="How often the rule acts at most.")
    revert_after: PositiveCount | None = Field(
        None, description="Revert the last change after this long; null: never."
    )
    revert_if_worse: float | None = Field(
        None,
        ge=0,
        description="Revert the last change as soon as the metric is worse by more than this than it was "
        "when the rule acted; null: never.",
    )

    @field_validator("metric")
    @classmethod
    def _is_declared(cls, metric: str) -> str:
        try:
            catalogue.spec(metric)
        except catalogue.UnknownMetric as error:
            raise ValueError(str(error)) from None
        return metric

    @model_validator(mode="after")
    def _has_one_action(self) -> InterventionConfig:
        asked = [name for name in ("multiply", "set") if getattr(self, name) is not None]
        asked += ["stop"] if self.stop else []
        if len(asked) != 1:
            given = " and ".join(asked) if asked else "none"
            raise ValueError(f"give exactly one of multiply, set and stop, got {given}")
        if (self.setting is None) != self.stop:
            raise ValueError("stop takes no setting" if self.stop else "give the setting of algo to change")
        if self.direction is None and catalogue.spec(self.metric).better is None:
            raise ValueError(f"give the direction in which {self.metric} is better: higher or lower")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low is above high: {self.low:g} > {self.high:g}")
        return self

    @property
    def sign(self) -> float:
        better = self.direction or catalogue.spec(self.metric).better
        return 1.0 if better == "higher" else -1.0
