"""Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field

from gymnast.algorithms.objective import Batch, Loss
from gymnast.algorithms.returns import gae
from gymnast.config.schedules import scheduled
from gymnast.config.values import BatchSize, PositiveCount, Section

if TYPE_CHECKING:
    from gymnast.algorithms.objective import Array
    from gymnast.policies.distributions import Evaluated
    from gymnast.rollout.buffer import Rollout

    # A type checker cannot read types that are made by a call.
    Epochs: TypeAlias = Any
    Rate: TypeAlias = Any
    Unit: TypeAlias = Any
    NonNegative: TypeAlias = Any
else:
    Epochs, Rate = scheduled(1, 1000, whole=True), scheduled(0, 10)
    Unit, NonNegative = scheduled(0, 1), scheduled(0)


class PPOConfig(Section):
    """Settings of PPO. Every number marked schedulable takes a schedule as well."""

    name: Literal["ppo"] = "ppo"
    n_steps: PositiveCount = Field(128, description="Steps of each env in a rollout.")
    batch_size: BatchSize = Field(
        0.25, description="Samples in a minibatch; at most 1: a fraction of the rollout; `all`: the rollout."
    )
    n_epochs: Epochs = Field(4, description="Passes over a rollout. Schedulable.")
    lr: Rate = Field(3e-4, description="Learning rate of Adam. Schedulable.")
    gamma: Unit = Field(0.99, description="Discount. Schedulable.")
    gae_lambda: Unit = Field(0.95, description="Trace of the advantage estimate. Schedulable.")
    clip_range: Rate = Field(0.2, description="How far a ratio may move from 1. Schedulable.")
    value_clip_range: NonNegative | None = Field(
        None, description="How far a value may move from the old one; null: free. Schedulable."
    )
    entropy_coef: NonNegative = Field(0.0, description="Weight of the entropy bonus. Schedulable.")
    value_coef: NonNegative = Field(0.5, description="Weight of the squared value error. Schedulable.")
    max_grad_norm: NonNegative = Field(
        0.5, description="Gradients are scaled down to this norm; 0: never. Schedulable."
    )
    target_kl: NonNegative | None = Field(
        None, description="Stop an update's epochs when KL passes 1.5 × this. Schedulable."
    )
    normalize_advantage: bool = Field(True, description="Advantages of a minibatch get mean 0 and std 1.")
    normalize_reward: bool = Field(
        False, description="Divide rewards by the running std of the discounted return."
    )
    clip_reward: float | None = Field(
        10.0, gt=0, description="Normalised rewards are cut to ± this; null: never."
    )
    adam_eps: float = Field(1e-5, gt=0, description="Adam's epsilon.")
    adam_betas: tuple[float, float] = Field((0.9, 0.999), description="Adam's decay rates.")


@dataclass(frozen=True, slots=True)
class PPOHyper:
    """The schedulable settings at one moment."""

    n_epochs: int
    lr: float
    gamma: float
    gae_lambda: float
    clip_range: float
    value_clip_range: float | None
    entropy_coef: float
    value_coef: float
    max_grad_norm: float
    target_kl: float | None


class PPO:
    """Clipped surrogate objective, clipped or free value loss, entropy bonus."""

    def __init__(self, config: PPOConfig) -> None:
        self.config = config

    def hyperparameters(self, env_steps: int, total_steps: int) -> PPOHyper:
        """Every schedule's value now."""
        values: dict[str, Any] = {}
        for field in fields(PPOHyper):
            schedule = getattr(self.config, field.name)
            values[field.name] = None if schedule is None else schedule.at(env_steps, total_steps)
        return PPOHyper(**values | {"n_epochs": round(values["n_epochs"])})

    def targets(self, rollout: Rollout, hp: PPOHyper) -> Batch:
        """Advantages by GAE, returns = advantages + values."""
        advantages = gae(
            rollout.rewards,
            rollout.values,
            rollout.terminated,
            rollout.truncated,
            rollout.bootstrap,
            hp.gamma,
            hp.gae_lambda,
        )
        values = rollout.values[:-1].reshape(-1)
        advantages = advantages.reshape(-1)
        return Batch(
            x=rollout.x,
            actions=rollout.actions.reshape(-1, *rollout.actions.shape[2:]),
            log_probs=rollout.log_probs.reshape(-1),
            values=values,
            advantages=advantages,
            returns=advantages + values,
        )

    def prepare(self, xp: Any, minibatch: Batch) -> Batch:
        """Once per minibatch: advantages with mean 0 and std 1."""
        if not self.config.normalize_advantage or len(minibatch.advantages) < 2:
            return minibatch
        advantages, n = minibatch.advantages, len(minibatch)
        centred = advantages - advantages.sum() / n  # .mean() takes twice as long on small arrays
        std = xp.sqrt((centred * centred).sum() / n)
        return replace(minibatch, advantages=centred / (std + 1e-8))

    def loss(self, xp: Any, new: Evaluated, values: Array, batch: Batch, hp: PPOHyper) -> Loss:
        """The objective to minimise (eq. 9 of the paper), as derivatives per sample.

        L = -E[min(r A, clip(r, 1-ε, 1+ε) A)] - c_H E[H] + c_V E[(V - R)²],  r = π(a|s) / π_old(a|s)
        """
        n = len(batch.advantages)
        log_ratio = new.log_prob - batch.log_probs
        ratio = xp.exp(log_ratio)
        free = ratio * batch.advantages
        clipped = ratio.clip(1 - hp.clip_range, 1 + hp.clip_range) * batch.advantages
        surrogate = xp.minimum(free, clipped)
        # d r/d log π = r; where the clipped term is the smaller one, the objective is flat.
        d_log_prob = xp.where(free <= clipped, free, 0.0) * (-1.0 / n)

        error = values - batch.returns
        squared = error * error
        d_values = error * (2.0 * hp.value_coef / n)
        if hp.value_clip_range is not None:
            moved = values - batch.values
            held = batch.values + moved.clip(-hp.value_clip_range, hp.value_clip_range) - batch.returns
            # Inside the range both terms are the same but for rounding, which must not decide.
            free_values = (abs(moved) <= hp.value_clip_range) | (squared >= held * held)
            d_values = xp.where(free_values, d_values, 0.0)
            squared = xp.maximum(squared, held * held)

        policy_loss, value_loss, entropy = -surrogate.sum() / n, squared.sum() / n, new.entropy.sum() / n
        return Loss(
            d_log_prob=d_log_prob,
            d_entropy=-hp.entropy_coef / n,
            d_values=d_values,
            kl=(ratio - 1.0 - log_ratio).sum() / n,  # Schulman's low-variance estimate of KL(old || new)
            largest_ratio=ratio.max(),
            stats={
                "train/loss/policy": policy_loss,
                "train/loss/value": value_loss,
                "train/loss/entropy": -entropy,
                "train/loss/total": policy_loss + hp.value_coef * value_loss - hp.entropy_coef * entropy,
                "train/entropy": entropy,
                "train/clip_fraction": (abs(ratio - 1.0) > hp.clip_range).sum() / n,
            },
        )
