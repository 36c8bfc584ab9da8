"""What learning reports: losses, how far the policy moved, the optimiser, and every scheduled setting."""

from __future__ import annotations

from gymnast.metrics.spec import MetricSpec

METRICS = (
    # The objective, averaged over the update's minibatches.
    MetricSpec("train/loss/policy", "Policy loss.", "", 4),
    MetricSpec("train/loss/value", "Value loss, before its coefficient.", "", 4, low=0, better="lower"),
    MetricSpec("train/loss/entropy", "Entropy loss, before its coefficient: minus the entropy.", "", 4),
    MetricSpec("train/loss/total", "The sum that is minimised, coefficients applied.", "", 4),
    MetricSpec("train/entropy", "Entropy of the policy; falls as it becomes deterministic.", "nats", 3),
    MetricSpec(
        "train/kl",
        "Estimated KL divergence from the policy that collected; with both algo.collect_ahead and "
        "algo.target_kl, from the policy at the beginning of the update.",
        "nats",
        5,
        better="lower",
    ),
    MetricSpec(
        "train/clip_fraction", "Fraction of samples whose ratio left the clip range.", "", 3, low=0, high=1
    ),
    MetricSpec("train/ratio/max", "Largest probability ratio of new to old policy.", "", 3, low=0),
    MetricSpec(
        "train/explained_variance",
        "Fraction of the returns' variance that value estimates explain.",
        "",
        3,
        high=1,
        better="higher",
    ),
    MetricSpec("train/value/mean", "Mean value estimate of the rollout.", "", 3),
    MetricSpec("train/advantage/mean", "Mean advantage, before normalisation.", "", 4),
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
    MetricSpec("train/action_std", "Mean standard deviation of a continuous policy's actions.", "", 4, low=0),
    # The optimiser, and every scheduled setting at its value in this update.
    MetricSpec("opt/grad_norm", "Mean norm of the gradient, before it is clipped.", "", 4, low=0),
    MetricSpec("opt/lr", "Learning rate.", "", 6, low=0),
    MetricSpec(
        "opt/resets", "Times so far that a jump of the learning rate reset the optimiser.", "", 0, low=0
    ),
    MetricSpec("opt/critic_lr", "Learning rate of the critic's own weights.", "", 6, low=0),
    MetricSpec("opt/clip_range", "How far a ratio may move from 1.", "", 4, low=0),
    MetricSpec("opt/value_clip_range", "How far a value may move from the old one.", "", 4, low=0),
    MetricSpec("opt/entropy_coef", "Weight of the entropy bonus.", "", 5, low=0),
    MetricSpec("opt/value_coef", "Weight of the value loss.", "", 4, low=0),
    MetricSpec("opt/gamma", "Discount.", "", 5, low=0, high=1),
    MetricSpec("opt/gae_lambda", "Trace of the advantage estimate.", "", 4, low=0, high=1),
    MetricSpec("opt/max_grad_norm", "Gradients are scaled down to this norm; 0: never.", "", 3, low=0),
    MetricSpec("opt/target_kl", "KL that stops an update early, before the factor 1.5.", "nats", 4, low=0),
    MetricSpec("opt/n_epochs", "Passes over a rollout that were asked for.", "epochs", 0, low=1),
)
