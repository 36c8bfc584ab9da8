"""Samples to learn from: a rollout with advantages and returns, flat, in either engine's arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gymnast.algorithms.returns import gae, vtrace

if TYPE_CHECKING:
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.sequences import Sequences

Array = Any  # numpy.ndarray or torch.Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples to learn from; the first axis is B."""

    x: Array  # [B, D] encoded observations
    actions: Array  # [B, …]
    log_probs: Array  # [B] under the policy that acted
    values: Array  # [B] of the critic before the update; [V, B] with several value heads
    advantages: Array  # [B]
    returns: Array  # [B] targets of the critic; [V, B] with several value heads
    weights: Array | None = None  # [B] 1 for samples to learn from, 0 for the others; None: all count
    masks: Array | None = None  # [B, M] choices that were allowed; None: all
    sequences: Sequences | None = None  # how the rows follow each other in time, for a policy with a memory
    # [B] under the policy at the beginning of the update, where KL is measured from it; None: `log_probs` are
    start_log_probs: Array | None = None

    def __len__(self) -> int:
        return len(self.advantages)

    def rows(self, index: Any) -> Batch:
        """Some of the samples: a slice gives views, an index array copies."""
        chosen = {name: _rows(array, index, name in _PER_HEAD) for name, array in self.arrays().items()}
        return Batch(**chosen, sequences=self.sequences)

    def map(self, change: Callable[[Any], Any]) -> Batch:
        """Every array that is set, changed in the same way."""
        changed = {name: change(array) for name, array in self.arrays().items()}
        return Batch(**changed, sequences=self.sequences)

    def arrays(self) -> dict[str, Array]:
        """Every array that is set, by its field's name."""
        arrays = {
            "x": self.x,
            "actions": self.actions,
            "log_probs": self.log_probs,
            "values": self.values,
            "advantages": self.advantages,
            "returns": self.returns,
        }
        if self.weights is not None:
            arrays["weights"] = self.weights
        if self.masks is not None:
            arrays["masks"] = self.masks
        if self.start_log_probs is not None:
            arrays["start_log_probs"] = self.start_log_probs
        return arrays


_PER_HEAD = ("values", "returns")  # whose last axis is B; of all others it is the first


def _rows(array: Array, index: Any, last_axis: bool) -> Array:
    if isinstance(index, slice):
        return array[..., index] if last_axis else array[index]
    axis = array.ndim - 1 if last_axis else 0
    # On rows of a matrix these are many times faster than array[index].
    return array.take(index, axis) if isinstance(array, np.ndarray) else array.index_select(axis, index)


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
    """A rollout with advantages by GAE; returns for the critic are advantages + values.

    With further reward streams, each has a value head and a discount of its own. The advantages are summed by
    weight; values and returns of all heads go to the critic, [V, B].
    """
    advantages = gae(
        rollout.rewards,
        rollout.values,
        rollout.terminated,
        rollout.truncated,
        rollout.bootstrap,
        gamma,
        gae_lambda,
    )
    returns = advantages + rollout.values[:-1]
    if not rollout.streams:
        return batch_of(rollout, advantages, returns)
    values, targets = [rollout.values[:-1].reshape(-1)], [returns.reshape(-1)]
    for stream in rollout.streams:
        own = stream.advantages(rollout, gae_lambda)
        advantages = advantages + np.float32(stream.weight) * own
        values.append(stream.values[:-1].reshape(-1))
        targets.append((own + stream.values[:-1]).reshape(-1))
    batch = batch_of(rollout, advantages, returns)
    return replace(batch, values=np.stack(values), returns=np.stack(targets))


def vtrace_batch(
    rollout: Rollout, gamma: float, gae_lambda: float, rho_clip: float, trace_clip: float
) -> Batch:
    """A rollout with advantages and returns by V-trace; without an older policy all weights are 1."""
    ratios = rollout.log_ratios
    weights = np.ones_like(rollout.rewards) if ratios is None else np.exp(np.minimum(ratios, 20.0))
    advantages, returns = vtrace(
        rollout.rewards,
        rollout.values,
        rollout.terminated,
        rollout.truncated,
        rollout.bootstrap,
        weights,
        gamma,
        gae_lambda,
        rho_clip,
        trace_clip,
    )
    return batch_of(rollout, advantages, returns)


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
