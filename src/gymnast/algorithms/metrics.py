"""What learning reports: losses, how far the policy moved, the optimiser, and every scheduled setting."""

from __future__ import annotations

from gymnast.metrics.spec import MetricSpec

METRICS = (
    # The objective, averaged over the update's minibatches.
    MetricSpec("train/loss/policy", "Policy loss.", "", 4),
    MetricSpec(
        "train/loss/value", "Value loss, before its coefficient.", "", 4, low=0, better="lower", priority=1
    ),
    MetricSpec(
        "train/loss/entropy", "Entropy loss, before its coefficient: minus the entropy.", "", 4, priority=3
    ),
    MetricSpec(
        "train/loss/value_scaled",
        "Value loss times algo.value_coef, as it is minimised.",
        "",
        4,
        low=0,
        priority=3,
    ),
    MetricSpec(
        "train/loss/entropy_scaled",
        "Entropy loss times algo.entropy_coef, as it is minimised.",
        "",
        4,
        priority=3,
    ),
    MetricSpec("train/loss/total", "The sum that is minimised, coefficients applied.", "", 4),
    MetricSpec(
        "train/entropy", "Entropy of the policy; falls as it becomes deterministic.", "nats", 3, priority=0
    ),
    MetricSpec(
        "train/entropy_fraction",
        "Entropy as a fraction of its maximum, with masks of that of allowed actions; not of real numbers.",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec(
        "train/kl",
        "Estimated KL divergence from the policy that collected; with both algo.collect_ahead and "
        "algo.target_kl, from the policy at the beginning of the update.",
        "nats",
        5,
        better="lower",
        priority=0,
    ),
    MetricSpec(
        "train/clip_fraction",
        "Fraction of samples whose ratio left the clip range.",
        "",
        3,
        low=0,
        high=1,
        priority=1,
    ),
    MetricSpec("train/ratio/max", "Largest probability ratio of new to old policy.", "", 3, low=0),
    MetricSpec(
        "train/ratio/start",
        "Largest distance of a ratio from 1 in the first minibatch, before any step: 0 but for rounding. Not "
        "with algo.collect_ahead, dropout, batch norm, bf16 or images on a GPU, where it is more by itself.",
        "",
        6,
        low=0,
        priority=3,
    ),
    MetricSpec(
        "train/action/top_share",
        "Share of the rollout's most frequent action (a single Discrete action space).",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec(
        "train/action/clipped",
        "Share of continuous action components that were sampled outside the bounds and clipped; not of "
        "squashed ones.",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec(
        "train/explained_variance",
        "Fraction of the returns' variance that value estimates explain.",
        "",
        3,
        high=1,
        better="higher",
        priority=0,
    ),
    MetricSpec("train/value/mean", "Mean value estimate of the rollout.", "", 3),
    MetricSpec("train/value/std", "Standard deviation of these value estimates.", "", 4, low=0, priority=3),
    MetricSpec(
        "train/target/mean",
        "Mean value target (the returns that the critic learns), rewards scaled, before PopArt: in the units "
        "of train/value/mean.",
        "",
        3,
        priority=3,
    ),
    MetricSpec(
        "train/target/std",
        "Standard deviation of the value targets, in the same units.",
        "",
        4,
        low=0,
        priority=3,
    ),
    MetricSpec(
        "train/target/negative",
        "Share of value targets below 0, before PopArt.",
        "",
        3,
        low=0,
        high=1,
        priority=3,
    ),
    MetricSpec(
        "train/target/abs_max",
        "Largest absolute value target as the value head learns it: rewards scaled, and after PopArt.",
        "",
        3,
        low=0,
        priority=3,
    ),
    MetricSpec("train/advantage/mean", "Mean advantage, before normalisation.", "", 4, priority=3),
    MetricSpec(
        "train/advantage/std", "Standard deviation of the advantage, before normalisation.", "", 4, low=0
    ),
    MetricSpec(
        "train/used_samples",
        "Fraction of the rollout's samples that were learned from; 0: no episode ended, no step was taken.",
        "",
        3,
        low=0,
        high=1,
    ),
    MetricSpec("train/epochs_done", "Passes over this rollout, KL stops counted.", "epochs", 0, low=0),
    MetricSpec(
        "train/kl_stops", "Updates so far that KL stopped early.", "updates", 0, low=0, better="lower"
    ),
    MetricSpec(
        "train/action_std",
        "Mean standard deviation of a continuous policy's actions.",
        "",
        4,
        low=0,
        priority=1,
    ),
    # The optimiser, and every scheduled setting at its value in this update.
    MetricSpec("opt/grad_norm", "Mean norm of the gradient, before it is clipped.", "", 4, low=0, priority=1),
    MetricSpec("opt/lr", "Learning rate.", "", 6, low=0, priority=0),
    MetricSpec(
        "opt/resets", "Times so far that a jump of the learning rate reset the optimiser.", "", 0, low=0
    ),
    MetricSpec("opt/critic_lr", "Learning rate of the critic's own weights.", "", 6, low=0),
    MetricSpec("opt/clip_range", "How far a ratio may move from 1.", "", 4, low=0, priority=3),
    MetricSpec(
        "opt/value_clip_range", "How far a value may move from the old one.", "", 4, low=0, priority=3
    ),
    MetricSpec("opt/entropy_coef", "Weight of the entropy bonus.", "", 5, low=0),
    MetricSpec("opt/value_coef", "Weight of the value loss.", "", 4, low=0, priority=3),
    MetricSpec("opt/gamma", "Discount.", "", 5, low=0, high=1, priority=3),
    MetricSpec("opt/gae_lambda", "Trace of the advantage estimate.", "", 4, low=0, high=1, priority=3),
    MetricSpec(
        "opt/max_grad_norm", "Gradients are scaled down to this norm; 0: never.", "", 3, low=0, priority=3
    ),
    MetricSpec(
        "opt/target_kl", "KL that stops an update early, before the factor 1.5.", "nats", 4, low=0, priority=3
    ),
    MetricSpec("opt/n_epochs", "Passes over a rollout that were asked for.", "epochs", 0, low=1, priority=3),
)
