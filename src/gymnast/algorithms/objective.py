"""What an algorithm hands to an engine.

Every policy-gradient method needs only the derivatives of its objective with respect to each
sample's log-probability, entropy and value. An algorithm states these, in code that runs on NumPy
arrays and torch tensors alike; the distribution and the network carry them back to the weights.
So an algorithm is written once, for both engines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gymnast.algorithms.returns import gae
from gymnast.algorithms.value_loss import value_loss

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Hyper
    from gymnast.algorithms.settings import AlgoSettings
    from gymnast.policies.distributions import Evaluated
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.sequences import Sequences

Array = Any  # numpy.ndarray or torch.Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples to learn from; the first axis is B."""

    x: Array  # [B, D] encoded observations
    actions: Array  # [B, …]
    log_probs: Array  # [B] under the policy that acted
    values: Array  # [B] of the critic that was there then
    advantages: Array  # [B]
    returns: Array  # [B] targets of the critic
    weights: Array | None = None  # [B] 1 for samples to learn from, 0 for the others; None: all count
    masks: Array | None = None  # [B, M] choices that were allowed; None: all
    sequences: Sequences | None = None  # how the rows hang together in time, for a policy with a memory

    def __len__(self) -> int:
        return len(self.advantages)

    def rows(self, index: Any) -> Batch:
        """Some of the samples: a slice gives views, an index array copies."""
        return self.map(lambda array: _rows(array, index))

    def map(self, change: Callable[[Any], Any]) -> Batch:
        """Every array that there is, changed in the same way."""
        changed: list[Any] = [None if array is None else change(array) for array in self._arrays()]
        changed.append(self.sequences)
        return Batch(*changed)

    def arrays(self) -> list[Array]:
        """Every array that there is."""
        return [array for array in self._arrays() if array is not None]

    def _arrays(self) -> tuple[Array | None, ...]:
        return (
            self.x,
            self.actions,
            self.log_probs,
            self.values,
            self.advantages,
            self.returns,
            self.weights,
            self.masks,
        )


@dataclass(slots=True)
class Loss:
    """Derivatives of the mean objective, and what it was made of."""

    d_log_prob: Array  # [B]
    d_entropy: Array | float  # [B] or one number for all
    d_values: Array  # [B]
    kl: Array  # scalar: how far the policy moved from the one that acted
    largest_ratio: Array  # scalar: the sample whose probability grew most
    stats: dict[str, Array]  # scalars by metric key


def _rows(array: Array, index: Any) -> Array:
    if isinstance(index, slice):
        return array[index]
    # On rows of a matrix these are many times faster than array[index].
    return array.take(index, 0) if isinstance(array, np.ndarray) else array.index_select(0, index)


def batch_of(
    rollout: Rollout, advantages: np.ndarray, returns: np.ndarray, weights: np.ndarray | None = None
) -> Batch:
    """A rollout's samples as one batch: [T, N, …] becomes [T·N, …]."""
    actions = rollout.actions
    return Batch(
        x=rollout.x,
        actions=actions.reshape(-1, *actions.shape[2:]),
        log_probs=rollout.log_probs.reshape(-1),
        values=rollout.values[:-1].reshape(-1),
        advantages=advantages.reshape(-1),
        returns=returns.reshape(-1),
        weights=None if weights is None else weights.reshape(-1),
        masks=None if rollout.masks is None else rollout.masks[:-1].reshape(-1, rollout.masks.shape[2]),
        sequences=rollout.sequences,
    )


def gae_batch(rollout: Rollout, gamma: float, gae_lambda: float) -> Batch:
    """A rollout with advantages by GAE; returns for the critic are advantages + values."""
    advantages = gae(
        rollout.rewards,
        rollout.values,
        rollout.terminated,
        rollout.truncated,
        rollout.bootstrap,
        gamma,
        gae_lambda,
    )
    return batch_of(rollout, advantages, advantages + rollout.values[:-1])


def normalize_advantages(xp: Any, batch: Batch) -> Batch:
    """Advantages with mean 0 and std 1, over the samples that count."""
    advantages, n = batch.advantages, len(batch)
    if n < 2:
        return batch
    if batch.weights is not None:
        return replace(batch, advantages=_normalized_where(xp, advantages, batch.weights))
    centred = advantages - advantages.sum() / n  # .mean() takes twice as long on small arrays
    std = xp.sqrt((centred * centred).sum() / n)
    return replace(batch, advantages=centred / (std + 1e-8))


def _normalized_where(xp: Any, advantages: Array, weights: Array) -> Array:
    n = weights.sum().clip(1)
    centred = (advantages - (advantages * weights).sum() / n) * weights
    return centred / (xp.sqrt((centred * centred).sum() / n) + 1e-8)


def kl_estimate(log_ratio: Array, ratio: Array) -> Array:
    """Schulman's low-variance estimate of KL(old || new), per sample."""
    return ratio - 1.0 - log_ratio


def policy_gradient(
    xp: Any, new: Evaluated, values: Array, batch: Batch, hp: Hyper, critic: AlgoSettings | None
) -> Loss:
    """L = -E[A log π] - c_H E[H] + c_V E[loss of V], over the samples that count (Sutton et al., 1999).

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
    policy_loss, entropy = -(weighted * new.log_prob).sum(), (new.entropy * share).sum()
    stats = {
        "train/loss/policy": policy_loss,
        "train/loss/entropy": -entropy,
        "train/loss/total": policy_loss - hp.entropy_coef * entropy,
        "train/entropy": entropy,
    }
    if critic is None:
        d_values = values * 0.0
    else:
        errors, d_values = value_loss(xp, values, batch, critic, 1.0)
        d_values = d_values * (hp.value_coef * share)
        stats["train/loss/value"] = (errors * share).sum()
        stats["train/loss/total"] = stats["train/loss/total"] + hp.value_coef * stats["train/loss/value"]
    return Loss(
        d_log_prob=-weighted,
        d_entropy=-hp.entropy_coef * share,
        d_values=d_values,
        kl=(kl_estimate(log_ratio, ratio) * share).sum(),
        largest_ratio=ratio.max(),
        stats=stats,
    )
