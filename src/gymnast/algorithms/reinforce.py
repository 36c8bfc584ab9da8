"""REINFORCE (Williams, 1992): the policy gradient with returns of whole episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gymnast.algorithms.algorithm import Hyper, hyper_at
from gymnast.algorithms.batch import Batch, batch_of, normalize_advantages
from gymnast.algorithms.objective import Loss, policy_gradient
from gymnast.algorithms.returns import episode_totals, monte_carlo
from gymnast.algorithms.settings import AlgoSettings, Rate
from gymnast.config.search import LogRange, Pow2
from gymnast.config.values import PositiveCount

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Array
    from gymnast.policies.distributions import Evaluated
    from gymnast.rollout.buffer import Rollout


class ReinforceConfig(AlgoSettings):
    """Settings of REINFORCE: one gradient step per rollout, so rollouts should hold many whole episodes.

    Numbers marked schedulable take a schedule as well.
    """

    name: Literal["reinforce"] = "reinforce"
    n_steps: Annotated[PositiveCount, Pow2(128, 4096)] = Field(
        1024, description="Steps of each env in a rollout; a few times the longest episode."
    )
    lr: Annotated[Rate, LogRange(1e-4, 1e-1)] = Field(1e-2, description="Learning rate. Schedulable.")
    reward_to_go: bool = Field(
        True, description="An action is credited with the rewards after it; false: with its whole episode's."
    )
    baseline: Literal["none", "mean", "value"] = Field(
        "value",
        description="What returns are compared with: nothing, the mean of the batch, or a learned value. "
        "With normalize_advantage none is the same as mean.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforceHyper(Hyper):
    """The schedulable settings at one moment."""


class Reinforce:
    """Monte-Carlo policy gradient, with or without a baseline.

    A rollout of T steps ends in the middle of episodes, whose returns are not known yet. With a
    learned value the rest of the return is its estimate, as where a time limit cuts an episode off.
    Without one those samples are left out (weight 0), and a time limit is the end of the episode.
    """

    Settings: ClassVar[type[AlgoSettings]] = ReinforceConfig
    without_preset: ClassVar[dict[str, dict[str, Any]]] = {
        "env": {"n_envs": 16},
        "algo": {"lr": {"kind": "linear", "start": 5e-3, "end": 0}},
    }
    measure_after: ClassVar[bool] = True

    def __init__(self, config: ReinforceConfig) -> None:
        self.config = config

    @property
    def uses_critic(self) -> bool:
        return self.config.baseline == "value"

    def hyperparameters(self, env_steps: int, total_steps: int) -> ReinforceHyper:
        """Every schedule's value now."""
        return hyper_at(ReinforceHyper, self.config, env_steps, total_steps)

    def targets(self, rollout: Rollout, hp: ReinforceHyper) -> Batch:
        """Returns of episodes, less the baseline."""
        learned = self.uses_critic
        done = rollout.terminated | rollout.truncated
        to_go, known = monte_carlo(
            rollout.rewards,
            done,
            rollout.bootstrap if learned else None,
            rollout.values[-1] if learned else None,
            hp.gamma,
        )
        values = rollout.values[:-1]
        credited, baseline = to_go, values
        if not self.config.reward_to_go:
            # All steps of an episode get its return from the first step on; the value to compare with
            # is then that of its first observation. Episodes begun in an earlier rollout are left out.
            credited, begun = episode_totals(to_go, done, rollout.begun)
            baseline, _ = episode_totals(values, done, rollout.begun)
            known = known & begun
        weights = None if known.all() else known.astype(np.float32)
        if not learned:
            mean = float(credited[known].mean()) if self.config.baseline == "mean" and known.any() else 0.0
            return batch_of(rollout, credited - np.float32(mean), to_go, weights)
        return batch_of(rollout, credited - baseline, to_go, weights)

    def prepare(self, xp: Any, minibatch: Batch) -> Batch:
        return normalize_advantages(xp, minibatch) if self.config.normalize_advantage else minibatch

    def loss(self, xp: Any, new: Evaluated, values: Array, batch: Batch, hp: ReinforceHyper) -> Loss:
        """L = -E[(G - b) log π] - c_H E[H], and c_V E[(V - G)²] where the baseline is learned."""
        critic = self.config if self.uses_critic else None
        return policy_gradient(xp, new, values, batch, hp, critic)
