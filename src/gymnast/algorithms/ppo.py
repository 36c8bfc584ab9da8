"""Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from gymnast.algorithms.algorithm import Hyper, hyper_at
from gymnast.algorithms.batch import Batch, gae_batch, normalize_advantages, vtrace_batch
from gymnast.algorithms.objective import Loss, kl_estimate
from gymnast.algorithms.settings import AlgoSettings, Epochs, NonNegative, Rate, Unit
from gymnast.algorithms.value_loss import value_losses
from gymnast.config.search import Choice, OneMinusLog, Range
from gymnast.config.values import BatchSize, resolve_batch_size

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Array
    from gymnast.policies.distributions import Evaluated
    from gymnast.rollout.buffer import Rollout


class PPOConfig(AlgoSettings):
    """Settings of PPO. Every number marked schedulable takes a schedule as well."""

    name: Literal["ppo"] = "ppo"
    batch_size: Annotated[BatchSize, Choice((0.0625, 0.125, 0.25, 0.5, 1.0))] = Field(
        0.25, description="Samples in a minibatch; at most 1: a fraction of the rollout; `all`: the rollout."
    )
    n_epochs: Annotated[Epochs, Range(1, 20, whole=True)] = Field(
        4, description="Passes over a rollout. Schedulable."
    )
    gae_lambda: Annotated[Unit, OneMinusLog(0.8, 0.995)] = Field(
        0.95, description="Trace of the advantage estimate. Schedulable."
    )
    advantage: Literal["gae", "vtrace"] = Field(
        "gae",
        description="How advantages are estimated; vtrace weighs what an older policy collected.",
    )
    rho_clip: float = Field(1.0, gt=0, description="V-trace: largest weight of a step's own error.")
    trace_clip: float = Field(1.0, gt=0, description="V-trace: largest weight of what follows a step.")
    clip_range: Annotated[Rate, Range(0.1, 0.4)] = Field(
        0.2, description="How far a ratio may move from 1. Schedulable."
    )
    value_clip_range: NonNegative | None = Field(
        None, description="How far a value may move from the old one; null: not clipped. Schedulable."
    )
    target_kl: NonNegative | None = Field(
        None,
        description="Stop an update's epochs when KL since its beginning exceeds 1.5 × this. Schedulable.",
    )
    collect_ahead: bool = Field(
        False,
        description="Collect the next rollout while learning from this one; its policy is one update older.",
    )

    def minibatch_size(self, rollout_size: int) -> int:
        return resolve_batch_size(self.batch_size, rollout_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOHyper(Hyper):
    """The schedulable settings at one moment."""

    gae_lambda: float
    clip_range: float
    value_clip_range: float | None


class PPO:
    """Clipped surrogate objective, clipped or free value loss, entropy bonus."""

    Settings: ClassVar[type[AlgoSettings]] = PPOConfig
    # Rollouts long enough for one update to see rewards, wide enough to be uncorrelated. Decaying the rate
    # to 0 costs nothing early and steadies the end of a run of unknown length.
    without_preset: ClassVar[dict[str, dict[str, Any]]] = {
        "algo": {
            "n_steps": 256,
            "batch_size": 0.125,
            "n_epochs": 10,
            "lr": {"kind": "linear", "start": 3e-4, "end": 0},
        }
    }
    measure_after: ClassVar[bool] = False
    uses_critic = True

    def __init__(self, config: PPOConfig) -> None:
        self.config = config

    def hyperparameters(self, env_steps: int, total_steps: int) -> PPOHyper:
        """Every schedule's value now."""
        return hyper_at(PPOHyper, self.config, env_steps, total_steps)

    def targets(self, rollout: Rollout, hp: PPOHyper) -> Batch:
        """Advantages by GAE, returns = advantages + values; or both by V-trace."""
        if self.config.advantage == "vtrace":
            clips = self.config.rho_clip, self.config.trace_clip
            return vtrace_batch(rollout, hp.gamma, hp.gae_lambda, *clips)
        return gae_batch(rollout, hp.gamma, hp.gae_lambda)

    def prepare(self, xp: Any, minibatch: Batch) -> Batch:
        """Once per minibatch: advantages with mean 0 and std 1."""
        return normalize_advantages(xp, minibatch) if self.config.normalize_advantage else minibatch

    def loss(self, xp: Any, new: Evaluated, values: Array, batch: Batch, hp: PPOHyper) -> Loss:
        """L = -E[min(r A, clip(r, 1-ε, 1+ε) A)] + c_V E[(V - R)²] - c_H E[H],  r = π(a|s) / π_old(a|s)

        Eq. 9 of the paper, to be minimised; its first term is eq. 7.
        """
        n, advantages = len(batch), batch.advantages
        log_ratio = new.log_prob - batch.log_probs
        ratio = xp.exp(log_ratio)
        free = ratio * advantages
        clipped = ratio.clip(1 - hp.clip_range, 1 + hp.clip_range) * advantages
        errors, d_values = value_losses(
            xp, values, batch, self.config, hp.value_coef / n, hp.value_clip_range
        )

        policy_loss = -xp.minimum(free, clipped).sum() / n
        value_loss = errors.sum() / n
        entropy = new.entropy.sum() / n
        total = policy_loss + hp.value_coef * value_loss - hp.entropy_coef * entropy

        return Loss(
            # dr / d log π = r; where the clipped term is the smaller one, the objective is flat.
            d_log_prob=xp.where(free <= clipped, free, 0.0) * (-1.0 / n),
            d_entropy=-hp.entropy_coef / n,
            d_values=d_values,
            kl=kl_estimate(log_ratio, ratio).sum() / n,
            largest_ratio=ratio.max(),
            stats={
                "train/loss/policy": policy_loss,
                "train/loss/value": value_loss,
                "train/loss/entropy": -entropy,
                "train/loss/total": total,
                "train/entropy": entropy,
                "train/clip_fraction": (abs(ratio - 1.0) > hp.clip_range).sum() / n,
            },
        )
