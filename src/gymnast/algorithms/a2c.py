"""Advantage actor-critic, the synchronous form of A3C (Mnih et al., 2016, arXiv:1602.01783)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from gymnast.algorithms.algorithm import Hyper, hyper_at
from gymnast.algorithms.batch import Batch, gae_batch, normalize_advantages
from gymnast.algorithms.objective import Loss, policy_gradient
from gymnast.algorithms.settings import AlgoSettings, Rate, Unit
from gymnast.config.search import LogRange, OneMinusLog, Pow2
from gymnast.config.values import CountOrAuto
from gymnast.optimizers.settings import OptimizerConfig, RMSPropConfig

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Array
    from gymnast.policies.distributions import Evaluated
    from gymnast.rollout.buffer import Rollout


class A2CConfig(AlgoSettings):
    """Settings of A2C: one gradient step per rollout. Numbers marked schedulable take a schedule as well."""

    name: Literal["a2c"] = "a2c"
    n_steps: Annotated[CountOrAuto, Pow2(4, 256)] = Field(
        5,
        description="Steps of each env in a rollout; auto: twice the steps that rewards are apart, measured.",
    )
    lr: Annotated[Rate, LogRange(1e-5, 1e-2)] = Field(7e-4, description="Learning rate. Schedulable.")
    optimizer: OptimizerConfig = Field(
        default_factory=RMSPropConfig, description="What moves the weights: rmsprop, adam, adamw or sgd."
    )
    gae_lambda: Annotated[Unit, OneMinusLog(0.8, 0.999)] = Field(
        1.0, description="Trace of the advantage estimate; 1: n-step returns, as in the paper. Schedulable."
    )
    normalize_advantage: bool = Field(False, description="Advantages of a rollout get mean 0 and std 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class A2CHyper(Hyper):
    """The schedulable settings at one moment."""

    gae_lambda: float


class A2C:
    """Policy gradient with a learned critic, one step per rollout: every sample is used once."""

    Settings: ClassVar[type[AlgoSettings]] = A2CConfig
    # An update's samples come from many envs rather than from many steps of a few: less correlated.
    without_preset: ClassVar[dict[str, dict[str, Any]]] = {
        "env": {"n_envs": 32},
        "algo": {"n_steps": 8, "gae_lambda": 0.95, "lr": {"kind": "linear", "start": 1e-3, "end": 0}},
    }
    measure_after: ClassVar[bool] = True
    uses_critic = True

    def __init__(self, config: A2CConfig) -> None:
        self.config = config

    def hyperparameters(self, env_steps: int, total_steps: int) -> A2CHyper:
        """Every schedule's value now."""
        return hyper_at(A2CHyper, self.config, env_steps, total_steps)

    def targets(self, rollout: Rollout, hp: A2CHyper) -> Batch:
        """Advantages by GAE (with λ = 1: returns over the rest of the rollout, less the value)."""
        return gae_batch(rollout, hp.gamma, hp.gae_lambda)

    def prepare(self, xp: Any, minibatch: Batch) -> Batch:
        return normalize_advantages(xp, minibatch) if self.config.normalize_advantage else minibatch

    def loss(self, xp: Any, new: Evaluated, values: Array, batch: Batch, hp: A2CHyper) -> Loss:
        """L = -E[A log π] - c_H E[H] + c_V E[(V - R)²], as in section 4 of the paper."""
        return policy_gradient(xp, new, values, batch, hp, self.config)
