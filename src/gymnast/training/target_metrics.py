"""Targets and settings of an update as metrics, and a check of the first policy."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from gymnast.algorithms.algorithm import Hyper
from gymnast.algorithms.batch import Batch
from gymnast.policies.policy import Policy
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
        metrics["train/value/mean"] = float(values.mean())
        spread = float(returns.var())
        if spread > 1e-12:  # a constant return explains nothing
            metrics["train/explained_variance"] = 1.0 - float((returns - values).var()) / spread
    return metrics


def action_std(policy: Policy) -> dict[str, float]:
    """Of a continuous policy whose std does not depend on the state."""
    log_std = policy.network.views.get("log_std")
    return {} if log_std is None else {"train/action_std": float(np.exp(log_std.tolist()).mean())}


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
