"""What a run on actors reports: how old its data is, how fast each actor is, and who waits for whom."""

from __future__ import annotations

from gymnast.metrics.spec import MetricSpec

METRICS = (
    MetricSpec(
        "train/policy_lag/mean",
        "Updates between the policy that acted and the one that learns, mean over the rollout.",
        "updates",
        1,
        low=0,
        better="lower",
        priority=1,
    ),
    MetricSpec("train/policy_lag/max", "The largest such number.", "updates", 0, low=0, better="lower"),
    MetricSpec("cluster/actors", "Actor processes that share the envs.", "", 0, low=0, priority=1),
    MetricSpec(
        "cluster/queue",
        "Rollouts that actors are collecting, or have collected, while this one is learned from.",
        "rollouts",
        0,
        low=0,
    ),
    MetricSpec(
        "cluster/wait_seconds",
        "Seconds that the learner waited for this rollout.",
        "s",
        4,
        low=0,
        better="lower",
        priority=1,
    ),
    MetricSpec("cluster/received_mb", "Megabytes of this rollout.", "MB", 3, low=0, priority=3),
    MetricSpec(
        "cluster/actor_fps/min",
        "Env steps per second of the slowest actor.",
        "steps/s",
        0,
        low=0,
        better="higher",
    ),
    MetricSpec(
        "cluster/actor_fps/mean", "Mean over all actors.", "steps/s", 0, low=0, better="higher", priority=1
    ),
    MetricSpec("cluster/actor_fps/max", "Of the fastest actor.", "steps/s", 0, low=0, better="higher"),
    MetricSpec(
        "cluster/actor/*/fps",
        "Env steps per second of the actor with this number; of at most 32.",
        "steps/s",
        0,
        low=0,
        better="higher",
        priority=3,
    ),
)
