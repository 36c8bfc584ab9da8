"""What rollouts and evaluations report: rewards and observations as the envs gave them, and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gymnast.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from gymnast.rollout.buffer import Rollout

METRICS = (
    MetricSpec(
        "env/reward/mean", "Mean reward of the rollout, as the agent was rewarded.", "", 4, priority=1
    ),
    MetricSpec("env/reward/std", "Standard deviation of these rewards.", "", 4, low=0),
    MetricSpec("env/reward/min", "Lowest of these rewards.", "", 4),
    MetricSpec("env/reward/max", "Highest of these rewards.", "", 4),
    MetricSpec("env/reward/nonzero", "Share of rewards that are not 0.", "", 4, low=0, high=1, priority=3),
    MetricSpec(
        "env/resets_together",
        "Largest share of the rollout's episode ends that fell on one vectorised step; from 4 ends on.",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec("env/obs/mean", "Mean of all components of the rollout's observations.", "", 4, priority=3),
    MetricSpec(
        "env/obs/std", "Standard deviation of all components of the rollout's observations.", "", 4, low=0
    ),
    MetricSpec(
        "env/restarts",
        "Env processes that died or hung and were restarted, since the run was started or resumed.",
        "",
        0,
        low=0,
        better="lower",
        priority=1,
    ),
    MetricSpec(
        "env/reward_part/*",
        "Mean part of the reward with this name: a wrapper's, or the env's own.",
        "",
        4,
        priority=1,
    ),
    # Evaluation: only in the rows of updates that were followed by one.
    MetricSpec(
        "eval/return/mean", "Mean return of the evaluation: the score.", "", 2, better="higher", priority=0
    ),
    MetricSpec("eval/return/std", "Standard deviation of its returns.", "", 2, low=0),
    MetricSpec("eval/return/min", "Lowest of its returns.", "", 2, better="higher"),
    MetricSpec("eval/return/max", "Highest of its returns.", "", 2, better="higher"),
    MetricSpec("eval/length/mean", "Mean steps of its episodes.", "steps", 1, low=0, priority=1),
    MetricSpec("eval/episodes", "Its episodes.", "episodes", 0, low=1, priority=3),
    MetricSpec(
        "eval/episode/*",
        "A value that the env reports at the end of an episode, mean over the evaluation.",
        "",
        3,
        priority=1,
    ),
    MetricSpec(
        "eval/task/*/return/mean",
        "Mean return of the task with this name.",
        "",
        2,
        better="higher",
        priority=0,
    ),
    MetricSpec("eval/task/*/length/mean", "Mean steps of its episodes.", "steps", 1, low=0),
    MetricSpec(
        "eval/task/*/episode/*",
        "A value that its env reports at the end of an episode, mean over the evaluation.",
        "",
        3,
    ),
    MetricSpec("time/eval_seconds", "Seconds of the evaluation.", "s", 3, low=0, better="lower"),
)

_FEWEST = 4  # envs and ends: of fewer, some always fall on one step


def rollout_metrics(rollout: Rollout) -> dict[str, float]:
    """Rewards and observations as they came from the envs, before any scaling."""
    rewards = rollout.rewards
    metrics = {
        "env/reward/mean": float(rewards.mean()),
        "env/reward/std": float(rewards.std()),
        "env/reward/min": float(rewards.min()),
        "env/reward/max": float(rewards.max()),
        "env/reward/nonzero": np.count_nonzero(rewards) / rewards.size,
    }
    if rewards.shape[1] >= _FEWEST:
        ends = rollout.episode_ends
        if (count := np.count_nonzero(ends)) >= _FEWEST:
            metrics["env/resets_together"] = int(np.add.reduce(ends, 1).max()) / count
    if rollout.obs.dtype == "float32":  # an index or a pixel has no mean worth a column
        metrics |= {"env/obs/mean": float(rollout.obs.mean()), "env/obs/std": float(rollout.obs.std())}
    for name, total in rollout.part_sums.items():
        metrics[f"env/reward_part/{name}"] = total / rewards.size
    return metrics
