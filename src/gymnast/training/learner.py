"""A learner owns what learning changes: policy, optimiser and parts. The loop only hands it rollouts.

`PolicyGradient` is the learner of PPO, A2C and REINFORCE. Another kind of learning (off-policy, cloning) is
another class with the same methods, and its own counters and metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gymnast.algorithms.algorithm import Algorithm, Hyper
from gymnast.metrics.sinks.distributions_file import Snapshot
from gymnast.observe.observer import Observation
from gymnast.parts.part import Part
from gymnast.policies.policy import Optimizer, Policy
from gymnast.rollout.buffer import Rollout
from gymnast.rollout.transitions import transitions_of
from gymnast.training.target_metrics import (
    ActionMetrics,
    action_std,
    hyperparameter_metrics,
    largest_target,
    scaled_losses,
    target_metrics,
)
from gymnast.training.update import measured_from_here, update


@dataclass(frozen=True, slots=True)
class Learned:
    """What one call of `learn` did."""

    metrics: Mapping[str, float]
    diverged: bool = False  # the loss or the gradient is not finite: training cannot continue
    distributions: Snapshot | None = None  # of an observed update


class Learner(Protocol):
    policy: Policy
    uses_critic: bool  # whether values are learned, so that they are worth showing
    needs_transitions: bool  # whether the source has to keep the last observations of episodes
    batch_size: int  # samples of a gradient step, by which threads are chosen

    def hyperparameters(self, env_steps: int, total_steps: int) -> Hyper:
        """Every scheduled setting at its value now."""

    def learn(
        self,
        rollout: Rollout,
        hp: Hyper,
        rng: np.random.Generator,
        observation: Observation | None = None,
    ) -> Learned:
        """Improve the policy on a rollout; `observation` is shown what it asks for."""

    def counters(self) -> dict[str, float]:
        """What it has counted since the run began, for every metrics row and checkpoint."""

    def state(self) -> dict[str, Any]:
        """All it needs to continue exactly, beside the policy's arrays."""

    def load_state(self, state: dict[str, Any], *, fresh_optimizer: bool = False) -> list[str]:
        """Continue from `state`; returns notices of what could not be restored."""


class PolicyGradient:
    """Parts change rewards → targets → parts change targets → epochs of minibatches → parts learn."""

    def __init__(
        self, algo: Algorithm, policy: Policy, optimizer: Optimizer, parts: tuple[Part, ...], batch_size: int
    ) -> None:
        self.algo, self.policy, self.optimizer, self.parts = algo, policy, optimizer, parts
        self.batch_size = batch_size
        self.uses_critic = algo.uses_critic
        self.needs_transitions = any(part.needs_transitions for part in parts)
        self.epochs = self.kl_stops = 0
        self._actions = ActionMetrics(policy)
        # With one step per update no ratio is used; and some networks learn with other outputs than they act.
        self._starts_at_1 = not algo.measure_after and policy.network.learns_as_it_acts

    def hyperparameters(self, env_steps: int, total_steps: int) -> Hyper:
        hp: Hyper = self.algo.hyperparameters(env_steps, total_steps)
        for part in self.parts:
            part.schedule(env_steps, total_steps)
        return hp

    def learn(
        self,
        rollout: Rollout,
        hp: Hyper,
        rng: np.random.Generator,
        observation: Observation | None = None,
    ) -> Learned:
        steps = transitions_of(rollout) if self.needs_transitions else None
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported below
            for part in self.parts:
                part.rewards(rollout, steps, hp)
            batch = self.algo.targets(rollout, hp)
            metrics = target_metrics(batch, self.uses_critic)
            if observation is not None:
                observation.targets(batch)
            for part in self.parts:
                batch = part.targets(batch, hp)
            if hp.target_kl is not None and rollout.older_policy:
                batch = measured_from_here(self.policy, batch)
            if self.uses_critic:
                metrics |= largest_target(batch)
            if observation is not None:
                observation.before_update()
            stats = update(
                self.policy,
                self.optimizer,
                self.algo,
                batch,
                hp,
                self.batch_size,
                rng,
                self.parts,
                measure_start=self._starts_at_1 and not rollout.older_policy,
            )
            self.epochs += stats.epochs
            self.kl_stops += stats.stopped_by_kl
            metrics |= stats.metrics | hyperparameter_metrics(hp) | action_std(self.policy)
            metrics |= {"train/epochs_done": stats.epochs, "train/kl_stops": self.kl_stops}
            metrics |= self._actions.of(batch, stats.metrics.get("train/entropy"))
            metrics |= scaled_losses(stats.metrics, hp)
            if not all(
                math.isfinite(stats.metrics.get(key, 0.0)) for key in ("train/loss/total", "opt/grad_norm")
            ):
                return Learned(metrics, diverged=True)
            snapshot = None
            if observation is not None:
                metrics |= observation.after_update(rollout, stats.steps, stats.last_norm)
                snapshot = observation.snapshot
            for part in self.parts:
                part.after_update(steps, hp, rng)
                metrics |= part.metrics()
        # Observation statistics move between updates, never within one: the first ratio of an update is 1.
        if not rollout.observed:
            self.policy.preprocessor.observe(rollout.obs[:-1])
        return Learned(metrics, distributions=snapshot)

    def counters(self) -> dict[str, float]:
        return {"time/epochs": self.epochs}

    def state(self) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer.state(),
            "epochs": self.epochs,
            "kl_stops": self.kl_stops,
            "parts": {part.name: part.state() for part in self.parts},
        }

    def load_state(self, state: dict[str, Any], *, fresh_optimizer: bool = False) -> list[str]:
        self.epochs, self.kl_stops = int(state["epochs"]), int(state["kl_stops"])
        notices = []
        if fresh_optimizer:
            notices.append("the optimiser starts from scratch")
        else:
            self.optimizer.load_state(state["optimizer"])
        return notices + load_by_name("part", self.parts, state["parts"])


class Named(Protocol):
    """A part or hook, whose state a checkpoint keeps under its name."""

    @property
    def name(self) -> str: ...
    def load_state(self, state: Any) -> None: ...


def load_by_name(kind: str, present: Iterable[Named], saved: Mapping[str, Any]) -> list[str]:
    """Restore the state of each; one that is new, or is missing now, is named in a notice."""
    notices, names = [], set()
    for each in present:
        names.add(each.name)
        if each.name in saved:
            each.load_state(saved[each.name])
        else:
            notices.append(f"the checkpoint has no state of {kind} '{each.name}': it starts from scratch")
    notices += [
        f"the checkpoint has state of {kind} '{name}', which this run does not use"
        for name in saved
        if name not in names
    ]
    return notices
