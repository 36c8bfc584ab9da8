"""What rollouts and evaluations report: rewards and observations as the envs gave them, and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnast.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from gymnast.rollout.buffer import Rollout

METRICS = (
    MetricSpec("env/reward/mean", "Mean reward of the rollout, as the agent was rewarded.", "", 4),
    MetricSpec("env/reward/std", "Standard deviation of these rewards.", "", 4, low=0),
    MetricSpec("env/reward/min", "Lowest of these rewards.", "", 4),
    MetricSpec("env/reward/max", "Highest of these rewards.", "", 4),
    MetricSpec("env/obs/mean", "Mean of all components of the rollout's observations.", "", 4),
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
    ),
    MetricSpec(
        "env/reward_part/*", "Mean part of the reward with this name: a wrapper's, or the env's own.", "", 4
    ),
    # Evaluation: only in the rows of updates that were followed by one.
    MetricSpec("eval/return/mean", "Mean return of the evaluation: the score.", "", 2, better="higher"),
    MetricSpec("eval/return/std", "Standard deviation of its returns.", "", 2, low=0),
    MetricSpec("eval/return/min", "Lowest of its returns.", "", 2, better="higher"),
    MetricSpec("eval/return/max", "Highest of its returns.", "", 2, better="higher"),
    MetricSpec("eval/length/mean", "Mean steps of its episodes.", "steps", 1, low=0),
    MetricSpec("eval/episodes", "Its episodes.", "episodes", 0, low=1),
    MetricSpec(
        "eval/episode/*",
        "A value that the env reports at the end of an episode, mean over the evaluation.",
        "",
        3,
    ),
    MetricSpec("eval/task/*/return/mean", "Mean return of the task with this name.", "", 2, better="higher"),
    MetricSpec("eval/task/*/length/mean", "Mean steps of its episodes.", "steps", 1, low=0),
    MetricSpec(
        "eval/task/*/episode/*",
        "A value that its env reports at the end of an episode, mean over the evaluation.",
        "",
        3,
    ),
    MetricSpec("time/eval_seconds", "Seconds of the evaluation.", "s", 3, low=0, better="lower"),
)


def rollout_metrics(rollout: Rollout) -> dict[str, float]:
    """Rewards and observations as they came from the envs, before any scaling."""
    rewards = rollout.rewards
    metrics = {
        "env/reward/mean": float(rewards.mean()),
        "env/reward/std": float(rewards.std()),
        "env/reward/min": float(rewards.min()),
        "env/reward/max": float(rewards.max()),
    }
    if rollout.obs.dtype == "float32":  # an index or a pixel has no mean worth a column
        metrics |= {"env/obs/mean": float(rollout.obs.mean()), "env/obs/std": float(rollout.obs.std())}
    for name, total in rollout.part_sums.items():
        metrics[f"env/reward_part/{name}"] = total / rewards.size
    return metrics
