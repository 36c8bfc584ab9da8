"""What is measured on observed updates alone (`observe/cadence.py`): the network by part, and the data.

A part is what the weights' names begin with: actor, critic, trunk, encoder, memory …; heads belong to the
network that they stand on. Activations are those of at most 512 samples of the rollout, after the update.
"""

from __future__ import annotations

from gymnast.metrics.spec import MetricSpec

NETWORK = (
    MetricSpec(
        "opt/grad_norm/*",
        "Norm of this part's gradient in the update's last minibatch, before clipping.",
        "",
        5,
        low=0,
        priority=2,
    ),
    MetricSpec("net/weight_norm/*", "Norm of this part's weights.", "", 3, low=0, priority=3),
    MetricSpec(
        "net/step_ratio/*",
        "How far the update moved this part's weights, as a fraction of their norm, per gradient step.",
        "",
        6,
        low=0,
        priority=2,
    ),
    MetricSpec(
        "net/dead/*",
        "Share of this part's hidden units that are the same for every sample: a ReLU never above 0, any "
        "other with a standard deviation below 0.001.",
        "",
        3,
        low=0,
        high=1,
        better="lower",
        priority=2,
    ),
    MetricSpec(
        "net/dormant/*",
        "Share of this part's hidden units whose mean absolute activation is at most 0.025 of their layer's "
        "mean (Sokar et al., 2023).",
        "",
        3,
        low=0,
        high=1,
        better="lower",
        priority=3,
    ),
    MetricSpec(
        "net/rank/*",
        "Effective rank (Roy and Vetterli, 2007) of the activations of this part's last hidden layer.",
        "",
        2,
        low=0,
        priority=2,
    ),
    MetricSpec(
        "net/saturated/*",
        "Share of this part's tanh activations beyond ±0.97.",
        "",
        3,
        low=0,
        high=1,
        better="lower",
        priority=2,
    ),
)

DATA = (
    MetricSpec(
        "env/obs/outside",
        "Share of observation components outside the bounds that the env declares, or NaN.",
        "",
        4,
        low=0,
        high=1,
        better="lower",
        priority=3,
    ),
    MetricSpec(
        "env/obs/constant",
        "Observation components that had one value over the rollout and all envs; not of images.",
        "",
        0,
        low=0,
        priority=3,
    ),
    MetricSpec(
        "env/obs/std_min",
        "Smallest standard deviation of a component of the normalised input; constant ones left out.",
        "",
        4,
        low=0,
        priority=3,
    ),
    MetricSpec(
        "env/obs/std_max",
        "Largest standard deviation of a component of the normalised input.",
        "",
        4,
        low=0,
        priority=3,
    ),
    MetricSpec(
        "env/obs/saturated",
        "Share of normalised observation components that policy.clip_obs cut off.",
        "",
        4,
        low=0,
        high=1,
        better="lower",
        priority=3,
    ),
    MetricSpec(
        "env/identical",
        "Env copies whose observations and rewards over the rollout equal those of another copy.",
        "",
        0,
        low=0,
        better="lower",
        priority=3,
    ),
    MetricSpec(
        "env/diversity",
        "How different the experience of the env copies is: the share of the observations' variance that "
        "lies between envs at the same step. 0: all do the same; 1: as different as unrelated ones.",
        "",
        3,
        low=0,
        high=1,
        better="higher",
        priority=2,
    ),
    MetricSpec("env/reward/abs_p99", "99th percentile of the absolute rewards.", "", 4, low=0, priority=3),
    MetricSpec(
        "env/reward/gap",
        "Mean steps of an env between rewards that are not 0.",
        "steps",
        1,
        low=1,
        priority=3,
    ),
    MetricSpec(
        "env/reward/last_share",
        "Share of the rollout's ended episodes' returns, in absolute values, that came with their last step.",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec(
        "train/terminal_corr",
        "Correlation of the value estimate before a terminal step with that step's reward; from 8 such steps "
        "in the rollout on.",
        "",
        3,
        low=-1,
        high=1,
        better="higher",
        priority=3,
    ),
)

METRICS = (*NETWORK, *DATA)
