"""What a rollout and the settings of the moment look like as metrics."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from gymnast.algorithms.ppo import PPOHyper
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout

NEAR_UNIFORM = 0.9  # of the greatest possible entropy; a fresh policy below it explores too little


def rollout_metrics(rollout: Rollout, part_sums: dict[str, float]) -> dict[str, float]:
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
    for name, total in part_sums.items():
        metrics[f"env/reward_part/{name}"] = total / rewards.size
    return metrics


def target_metrics(advantages: np.ndarray, values: np.ndarray, returns: np.ndarray) -> dict[str, float]:
    """How good the critic was, and what the actor is told."""
    spread = float(returns.var())
    metrics = {
        "train/value/mean": float(values.mean()),
        "train/advantage/mean": float(advantages.mean()),
        "train/advantage/std": float(advantages.std()),
    }
    if spread > 1e-12:  # returns - values is the advantage; a constant return explains nothing
        metrics["train/explained_variance"] = 1.0 - float(advantages.var()) / spread
    return metrics


def hyperparameter_metrics(hp: PPOHyper) -> dict[str, float]:
    """Every schedule's value, so that a chart shows what the run really used."""
    return {f"opt/{name}": value for name, value in asdict(hp).items() if value is not None}


def initial_policy_notice(policy: Policy, obs: np.ndarray) -> str | None:
    """A warning if the fresh policy already prefers some actions: it would explore too little."""
    if policy.layout.continuous or policy.layout.n_outputs < 2:
        return None
    outputs, log_std, _ = policy.network.infer(policy.encoder.encode(obs))
    entropy = policy.distribution.evaluate(np, outputs, log_std, np.zeros(len(obs), np.int64)).entropy
    share = float(entropy.mean()) / float(np.log(policy.layout.n_outputs))
    if share >= NEAR_UNIFORM:
        return None
    return (
        f"the first policy is not near uniform: {share:.0%} of the greatest entropy. "
        "A smaller policy.actor_gain or policy.normalize_obs=running helps"
    )
