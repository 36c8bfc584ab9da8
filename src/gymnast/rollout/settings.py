"""The `eval` section: when and how the policy is scored."""

from __future__ import annotations

from pydantic import Field

from gymnast.config.values import Count, Fraction, PositiveCount, Section


class EvalConfig(Section):
    """Evaluation on its own envs, built as in training, training-only wrappers left out."""

    every: Count = Field(20_000, description="Env steps between evaluations; 0 turns evaluation off.")
    episodes: PositiveCount = Field(20, description="Episodes of an evaluation.")
    n_envs: PositiveCount | None = Field(
        None, description="Copies stepped together; chosen from `episodes` if unset."
    )
    warmup: Count = Field(0, description="No evaluation before this many env steps.")
    from_train_fraction: Fraction | None = Field(
        None,
        description="No evaluation before the training return reached this fraction of the way to solved.",
    )
    stochastic: bool = Field(False, description="Sample actions instead of taking the most likely one.")
    training_wrappers: bool = Field(False, description="Keep wrappers that are meant for training only.")
    background: bool = Field(False, description="Evaluate in another process, without blocking training.")
    seed: int | None = Field(
        None, description="Seed of the evaluation envs; derived from the run's seed if unset."
    )
