"""What a run on actors reports beside their speed (`envs/backends/remote_tally.py`): how old its data is."""

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
    MetricSpec(
        "time/actors/slowest",
        "Steps per second of the slowest actor, as a share of the mean of all.",
        "",
        2,
        low=0,
        high=1,
        better="higher",
    ),
)
