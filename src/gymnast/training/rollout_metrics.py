"""What a rollout and the settings of the moment look like as metrics."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from gymnast.algorithms.algorithm import Hyper
from gymnast.algorithms.batch import Batch
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout
from gymnast.spaces.masks import masked

NEAR_UNIFORM = 0.9  # of the greatest possible entropy; a fresh policy below it explores too little


def rollout_metrics(rollout: Rollout) -> dict[str, float]:
    """Rewards and observations as they came from the envs, before any scaling."""
    rewards = rollout.rewards
    mean = float(rewards.mean())
    metrics = {
        "env/reward/mean": mean,
        "env/reward/std": float(rewards.std()),
        "env/reward/min": float(rewards.min()),
        "env/reward/max": float(rewards.max()),
    }
    if rollout.obs.dtype == np.float32:  # an index or a pixel has no mean worth a column
        metrics |= {"env/obs/mean": float(rollout.obs.mean()), "env/obs/std": float(rollout.obs.std())}
    for name, total in rollout.part_sums.items():
        metrics[f"env/reward_part/{name}"] = total / rewards.size
    return metrics


def target_metrics(batch: Batch, critic: bool) -> dict[str, float]:
    """How good the critic was, if there is one, and what the actor is told."""
    advantages, values, returns = batch.advantages, batch.values, batch.returns
    metrics: dict[str, float] = {}
    if batch.weights is not None:
        metrics["train/used_samples"] = float(batch.weights.mean())
        counts = batch.weights > 0
        if not counts.any():
            return metrics
        advantages, values, returns = advantages[counts], values[counts], returns[counts]
    metrics["train/advantage/mean"] = float(advantages.mean())
    metrics["train/advantage/std"] = float(advantages.std())
    if critic:
        metrics["train/value/mean"] = float(values.mean())
        spread = float(returns.var())
        if spread > 1e-12:  # a constant return explains nothing
            metrics["train/explained_variance"] = 1.0 - float((returns - values).var()) / spread
    return metrics


def hyperparameter_metrics(hp: Hyper) -> dict[str, float]:
    """Every schedule's value, so that a chart shows what the run really used."""
    return {f"opt/{name}": value for name, value in asdict(hp).items() if value is not None}


def initial_policy_notice(policy: Policy, obs: np.ndarray, masks: np.ndarray | None = None) -> str | None:
    """A warning if the fresh policy already prefers some choices: it would explore too little."""
    if policy.layout.n_outputs == policy.layout.n_means:
        return None
    outputs, _ = policy.outputs_from(policy.preprocess(obs), policy.start(len(obs)))
    share = policy.distribution.uniformity(outputs if masks is None else masked(np, outputs, masks), masks)
    if share is None or share >= NEAR_UNIFORM:
        return None
    return (
        f"the first policy is not near uniform: {share:.0%} of the greatest entropy. "
        "A smaller policy.actor_gain or policy.normalize_obs=running helps"
    )
