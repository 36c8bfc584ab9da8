"""What a critic minimises, stated once for every algorithm and both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Array, Batch
    from gymnast.algorithms.settings import AlgoSettings


def value_losses(
    xp: Any, values: Array, batch: Batch, config: AlgoSettings, weight: float, clip_range: float | None = None
) -> tuple[Array, Array]:
    """Loss of each value ([B], or [V, B] of several heads), and `weight` times its derivative.

    Squared: e², e = V - R. Huber (1964): e² up to δ and δ (2|e| - δ) beyond, so that outliers pull
    with a force of 2δ at most and a large δ gives the squared loss. With `clip_range`, the larger
    loss of V and of V clipped to within the range around the value at collection (Schulman et al.'s
    implementation of PPO): no gain from moving further.
    """
    delta = config.huber_delta if config.value_loss == "huber" else None
    error = values - batch.returns
    losses, slopes = _losses(error, delta)
    if clip_range is None:
        return losses, slopes * (2.0 * weight)

    moved = values - batch.values
    clipped_error = batch.values + moved.clip(-clip_range, clip_range) - batch.returns
    clipped_losses, _ = _losses(clipped_error, delta)
    # Where the clipped value has the larger loss, it is flat. Inside the range both are the same but for
    # rounding, which must not decide.
    free = (abs(moved) <= clip_range) | (losses >= clipped_losses)
    return xp.maximum(losses, clipped_losses), xp.where(free, slopes * (2.0 * weight), 0.0)


def _losses(error: Array, delta: float | None) -> tuple[Array, Array]:
    """Squared loss, or Huber's with a delta; and half of the derivative."""
    if delta is None:
        return error * error, error
    cut = error.clip(-delta, delta)
    return cut * (2.0 * error - cut), cut  # e² inside ±δ, δ (2|e| - δ) outside
