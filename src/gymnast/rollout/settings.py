"""The `eval` section: when and how the policy is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from gymnast.config.values import Count, Fraction, PositiveCount, Section

if TYPE_CHECKING:
    from gymnast.algorithms.settings import AlgoSettings


class EvalConfig(Section):
    """Evaluation on its own envs, built as in training, training-only wrappers left out."""

    every: Count = Field(
        20_000,
        description="Env steps between evaluations; the last weights of the step budget are evaluated too."
        " 0 turns evaluation off.",
    )
    episodes: PositiveCount = Field(20, description="Episodes per evaluation.")
    n_envs: PositiveCount | None = Field(
        None, description="Copies stepped together; chosen from `episodes` if unset."
    )
    max_episode_steps: PositiveCount | None = Field(
        None,
        description="An episode is cut after this many steps and counts with its return so far; if unset,"
        " only where the env has no time limit, after 10,000.",
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


def memory_problems(algo: AlgoSettings, n_envs: int) -> dict[str, str]:
    """What keeps a policy with a memory from learning in whole sequences, by dotted key."""
    n_steps = algo.steps
    length = algo.sequence_length or n_steps
    if n_steps % length:
        near = _nearest(length, [d for d in range(1, n_steps + 1) if n_steps % d == 0])
        return {"algo.sequence_length": f"{length} does not divide the {n_steps} steps of a rollout; {near}"}
    size, rollout = algo.minibatch_size(n_envs * n_steps), n_envs * n_steps
    if size % length:
        near = _nearest(size, [d for d in range(length, rollout + 1, length) if rollout % d == 0])
        return {"algo.batch_size": f"{size} samples are not whole sequences of {length} steps; {near}"}
    return {}


def _nearest(wanted: int, fitting: list[int]) -> str:
    lower = [str(d) for d in fitting if d < wanted][-1:]
    upper = [str(d) for d in fitting if d > wanted][:1]
    return f"nearest that fit: {' or '.join(lower + upper)}"
