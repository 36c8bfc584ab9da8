"""What the training loop itself reports: counters, speed, training returns, tasks of a mix, best scores."""

from __future__ import annotations

from gymnast.metrics.spec import MetricSpec

# In every row, so that runs with different settings can be compared.
COUNTERS = (
    MetricSpec("time/env_steps", "Steps of single envs taken in training.", "steps", 0, low=0, priority=0),
    MetricSpec(
        "time/vec_steps", "Steps of all envs together: env steps / n_envs.", "steps", 0, low=0, priority=3
    ),
    MetricSpec("time/updates", "Rollouts collected and learned from.", "updates", 0, low=0),
    MetricSpec("time/epochs", "Passes over rollouts, all updates together.", "epochs", 0, low=0, priority=3),
    MetricSpec("time/episodes", "Training episodes finished.", "episodes", 0, low=0),
    MetricSpec("time/seconds", "Seconds of training, resumed parts added up.", "s", 1, low=0, priority=0),
    MetricSpec("time/progress", "Fraction of the budget that is spent.", "", 3, low=0, high=1, priority=0),
)

METRICS = (
    *COUNTERS,
    MetricSpec(
        "time/fps",
        "Env steps per second, since the last row.",
        "steps/s",
        0,
        low=0,
        better="higher",
        priority=0,
    ),
    MetricSpec(
        "time/collect_seconds", "Seconds this update spent stepping envs.", "s", 4, low=0, better="lower"
    ),
    MetricSpec("time/update_seconds", "Seconds this update spent learning.", "s", 4, low=0, better="lower"),
    MetricSpec(
        "time/tracker_dropped",
        "Rows that trackers did not get: they were slower than the training, or failed.",
        "rows",
        0,
        low=0,
        better="lower",
        priority=1,
    ),
    MetricSpec(
        "train/return/mean",
        "Mean return of the last 100 episodes, shaping included.",
        "",
        2,
        better="higher",
        priority=1,
    ),
    MetricSpec("train/return/std", "Standard deviation of these returns.", "", 2, low=0),
    MetricSpec("train/return/min", "Lowest of these returns.", "", 2, better="higher"),
    MetricSpec("train/return/max", "Highest of these returns.", "", 2, better="higher"),
    MetricSpec(
        "train/return_plain/mean",
        "Their mean without what wrappers added.",
        "",
        2,
        better="higher",
        priority=0,
    ),
    MetricSpec("train/length/mean", "Mean steps of the last 100 episodes.", "steps", 1, low=0, priority=1),
    MetricSpec("train/length/std", "Standard deviation of these lengths.", "steps", 1, low=0, priority=3),
    MetricSpec(
        "env/truncated_share",
        "Share of the last 100 episodes that ended by truncation: a time limit, not a terminal state.",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec(
        "env/episode/*",
        "A value that the env reports at the end of an episode, mean of the last 100 episodes.",
        "",
        3,
        priority=1,
    ),
    MetricSpec("opt/interventions", "Interventions so far, by all rules.", "", 0, low=0),
    MetricSpec("opt/reverts", "Interventions so far that were reverted.", "", 0, low=0),
    # Each task of a mix (`env.mix`), by its name.
    MetricSpec(
        "task/*/return/mean",
        "Mean return of its last 100 episodes, shaping included.",
        "",
        2,
        better="higher",
    ),
    MetricSpec(
        "task/*/return_plain/mean",
        "Their mean without what wrappers added.",
        "",
        2,
        better="higher",
        priority=0,
    ),
    MetricSpec("task/*/length/mean", "Mean steps of its last 100 episodes.", "steps", 1, low=0),
    MetricSpec("task/*/episodes", "Its training episodes finished.", "episodes", 0, low=0, priority=3),
    MetricSpec(
        "task/*/share", "Its share of the env copies, and so of the steps.", "", 3, low=0, high=1, priority=3
    ),
    MetricSpec(
        "task/*/episode/*",
        "A value that its env reports at the end of an episode, mean of its last 100 episodes.",
        "",
        3,
    ),
    # Evaluation, beside what the score itself holds (`rollout/metrics.py`).
    MetricSpec(
        "eval/env_steps", "The env step at which its weights were taken.", "steps", 0, low=0, priority=3
    ),
    MetricSpec(
        "eval/best",
        "Best score so far; in a mix, of those that solved every task if there is one.",
        "",
        2,
        better="higher",
        priority=0,
    ),
    MetricSpec(
        "eval/solved",
        "1 if the score reached the threshold.",
        "",
        0,
        low=0,
        high=1,
        better="higher",
        priority=3,
    ),
)
