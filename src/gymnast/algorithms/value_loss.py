"""What a critic minimises, stated once for every algorithm and both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Array, Batch
    from gymnast.algorithms.settings import AlgoSettings


def value_loss(
    xp: Any, values: Array, batch: Batch, config: AlgoSettings, weight: float, clip_range: float | None = None
) -> tuple[Array, Array]:
    """Loss of each sample, and `weight` times its derivative with respect to the value.

    Squared: e², e = V - R. Huber (1964): e² up to δ and δ (2|e| - δ) beyond, so that outliers pull
    with a force of 2δ at most and a large δ gives the squared loss. With `clip_range`, the larger
    loss of V and of V held to within the range around the value at collection (Schulman et al.'s
    implementation of PPO): no gain from moving further.
    """
    huber = config.value_loss == "huber"
    delta = config.huber_delta
    error = values - batch.returns
    slope = error.clip(-delta, delta) if huber else error
    loss = _huber(error, slope) if huber else error * error
    d_values = slope * (2.0 * weight)
    if clip_range is not None:
        moved = values - batch.values
        held = batch.values + moved.clip(-clip_range, clip_range) - batch.returns
        held_loss = _huber(held, held.clip(-delta, delta)) if huber else held * held
        # Inside the range both terms are the same but for rounding, which must not decide.
        free = (abs(moved) <= clip_range) | (loss >= held_loss)
        d_values = xp.where(free, d_values, 0.0)
        loss = xp.maximum(loss, held_loss)
    return loss, d_values


def _huber(error: Array, cut: Array) -> Array:
    """With c = clip(e, ±δ): c (2e - c) is e² inside and δ (2|e| - δ) outside."""
    return cut * (2.0 * error - cut)
