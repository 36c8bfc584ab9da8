"""Targets and settings of an update as metrics, and a check of the first policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields

import gymnasium as gym
import numpy as np

from gymnast.algorithms.algorithm import Hyper
from gymnast.algorithms.batch import Batch
from gymnast.policies.policy import Policy
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.masks import masked

NEAR_UNIFORM = 0.9  # of the maximum entropy; a new policy below it explores too little


def target_metrics(batch: Batch, critic: bool) -> dict[str, float]:
    """How good the critic was, if there is one, and the advantages that the actor learns from."""
    advantages, values, returns = batch.advantages, batch.values, batch.returns
    metrics: dict[str, float] = {}
    if batch.weights is not None:
        metrics["train/used_samples"] = float(batch.weights.mean())
        counts = batch.weights > 0
        if not counts.any():
            return metrics
        advantages, values, returns = advantages[counts], values[..., counts], returns[..., counts]
    metrics["train/advantage/mean"] = float(advantages.mean())
    metrics["train/advantage/std"] = float(advantages.std())
    if critic:
        if values.ndim == 2:  # of several heads, the first is of the env's rewards
            values, returns = values[0], returns[0]
        mean, n = float(values.mean()), len(values)
        centred = values - np.float32(mean)
        metrics["train/value/mean"] = mean
        metrics["train/value/std"] = math.sqrt(float(centred.dot(centred)) / n)
        spread = float(returns.var())
        metrics["train/target/mean"] = float(np.add.reduce(returns)) / n
        metrics["train/target/std"] = math.sqrt(spread)
        metrics["train/target/negative"] = np.count_nonzero(returns < 0) / n
        if spread > 1e-12:  # a constant return explains nothing
            metrics["train/explained_variance"] = 1.0 - float((returns - values).var()) / spread
    return metrics


def largest_target(batch: Batch) -> dict[str, float]:
    """The largest target as the value head learns it, once parts have changed what they change."""
    returns = batch.returns if batch.returns.ndim == 1 else batch.returns[0]
    if batch.weights is not None:
        returns = returns[batch.weights > 0]
    if not len(returns):
        return {}
    return {"train/target/abs_max": max(float(returns.max()), -float(returns.min()))}


class ActionMetrics:
    """What the actions of a rollout and their entropy say of the policy; constants are found once."""

    def __init__(self, policy: Policy) -> None:
        space, self._form = policy.layout.action_space, ActionForm(policy.layout.action_space)
        self._one_choice = isinstance(space, gym.spaces.Discrete)
        self._reals = self._form.real_columns
        self._greatest = sum(math.log(n) for n in self._form.sizes if n)  # entropy if everything is allowed
        self._bounds: tuple[np.ndarray, np.ndarray] | None = None
        if self._form.n_means and policy.layout.config.gaussian != "squashed":
            box = self._form.box()
            self._bounds = box.low, box.high

    def of(self, batch: Batch, entropy: float | None) -> dict[str, float]:
        """For the actions of a batch, and the mean entropy during its update."""
        metrics: dict[str, float] = {}
        if self._one_choice:
            counts = np.bincount(batch.actions)
            metrics["train/action/top_share"] = int(counts.max()) / len(batch)
        if self._bounds is not None:
            low, high = self._bounds
            reals = batch.actions if not self._form.n_logits else batch.actions[:, self._reals]
            outside = np.count_nonzero((reals < low) | (reals > high))
            metrics["train/action/clipped"] = outside / reals.size
        if entropy is not None and not self._form.n_means:
            greatest = self._greatest if batch.masks is None else self._allowed(batch.masks)
            if greatest > 0:
                metrics["train/entropy_fraction"] = min(
                    entropy / greatest, 1.0
                )  # of which rounding must not make more
        return metrics

    def _allowed(self, masks: np.ndarray) -> float:
        """The mean over observations of the greatest entropy that masks [B, M] allow."""
        if self._one_choice:
            return float(np.log(np.add.reduce(masks, 1)).mean())
        allowed = (
            masks[:, group.rows].reshape(-1, group.count, group.n).sum(2) for group in self._form.choices
        )
        return sum(float(np.log(each).sum(1).mean()) for each in allowed)


def action_std(policy: Policy) -> dict[str, float]:
    """Of a continuous policy whose std does not depend on the state."""
    log_std = policy.network.views.get("log_std")
    return {} if log_std is None else {"train/action_std": float(np.exp(log_std.tolist()).mean())}


def scaled_losses(losses: Mapping[str, float], hp: Hyper) -> dict[str, float]:
    """Losses times their coefficients, to be compared with each other."""
    weights = (("value", hp.value_coef), ("entropy", hp.entropy_coef))
    return {
        f"train/loss/{name}_scaled": weight * losses[key] + 0.0  # never -0.0
        for name, weight in weights
        if (key := f"train/loss/{name}") in losses
    }


def hyperparameter_metrics(hp: Hyper) -> dict[str, float]:
    """Every schedule's value, so that a chart shows what the run really used."""
    # Not `asdict`: it copies deeply, for which a run of small updates has no time.
    named = ((field.name, getattr(hp, field.name)) for field in fields(hp))
    return {f"opt/{name}": value for name, value in named if value is not None}


def initial_policy_notice(policy: Policy, obs: np.ndarray, masks: np.ndarray | None = None) -> str | None:
    """A warning if the new policy already prefers some actions: it would explore too little."""
    if policy.layout.n_outputs == policy.layout.n_means:
        return None
    outputs, _ = policy.outputs_from(policy.preprocess(obs), policy.start(len(obs)))
    share = policy.distribution.uniformity(outputs if masks is None else masked(np, outputs, masks), masks)
    if share is None or share >= NEAR_UNIFORM:
        return None
    return (
        f"the first policy is not near uniform: {share:.0%} of the maximum entropy. "
        "A smaller policy.actor_gain or policy.normalize_obs=running helps"
    )
