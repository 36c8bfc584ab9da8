"""What an algorithm hands to an engine.

Every policy-gradient method needs only the derivatives of its objective with respect to each
sample's log-probability, entropy and value. An algorithm states its loss as a formula, which is also
what the metrics report, and then these derivatives, in code that runs on NumPy arrays and torch tensors
alike; the distribution and the network carry them back to the weights. So an algorithm is written
once, for both engines; a test differentiates the formula with torch and compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymnast.algorithms.batch import Array, Batch
from gymnast.algorithms.value_loss import value_losses

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Hyper
    from gymnast.algorithms.settings import AlgoSettings
    from gymnast.policies.distributions import Evaluated


@dataclass(slots=True)
class Loss:
    """Derivatives of the mean objective, and what it was made of."""

    d_log_prob: Array  # [B]
    d_entropy: Array | float  # [B] or one number for all
    d_values: Array  # [B], or [V, B] of several value heads
    kl: Array  # scalar: how far the policy moved from the one that acted, or since the update began
    largest_ratio: Array  # scalar: the sample whose probability grew most
    stats: dict[str, Array]  # scalars by metric key


def kl_estimate(log_ratio: Array, ratio: Array) -> Array:
    """Schulman's low-variance estimate of KL(old || new), per sample."""
    return ratio - 1.0 - log_ratio


def policy_gradient(
    xp: Any, new: Evaluated, values: Array, batch: Batch, hp: Hyper, critic: AlgoSettings | None
) -> Loss:
    """L = -E[A log π] - c_H E[H] + c_V E[(V - R)²], over the samples that count (Sutton et al., 1999).

    `critic` has the settings of the value loss; None: there is no critic to train.
    """
    share: Any  # of each sample in the means
    if batch.weights is None:
        share = 1.0 / len(batch)
    else:
        share = batch.weights * (1.0 / float(batch.weights.sum()))
    log_ratio = new.log_prob - batch.log_probs
    ratio = xp.exp(log_ratio)
    weighted = batch.advantages * share

    policy_loss = -(weighted * new.log_prob).sum()
    entropy = (new.entropy * share).sum()
    total = policy_loss - hp.entropy_coef * entropy
    stats = {"train/loss/policy": policy_loss, "train/loss/entropy": -entropy, "train/entropy": entropy}
    if critic is None:
        d_values = values * 0.0
    else:
        errors, slopes = value_losses(xp, values, batch, critic, 1.0)
        d_values = slopes * (hp.value_coef * share)
        stats["train/loss/value"] = (errors * share).sum()
        total = total + hp.value_coef * stats["train/loss/value"]

    return Loss(
        d_log_prob=-weighted,
        d_entropy=-hp.entropy_coef * share,
        d_values=d_values,
        kl=(kl_estimate(log_ratio, ratio) * share).sum(),
        largest_ratio=ratio.max(),
        stats=stats | {"train/loss/total": total},
    )
