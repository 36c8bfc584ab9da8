"""One update: epochs of minibatches over a batch, on either engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gymnast.algorithms.algorithm import Algorithm, Hyper
from gymnast.algorithms.objective import Batch, kl_estimate
from gymnast.policies.distributions import Evaluated
from gymnast.policies.masks import masked
from gymnast.policies.policy import Optimizer, Policy


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Means over all minibatches of the update."""

    metrics: dict[str, float]
    epochs: int  # passes that were begun
    stopped_by_kl: bool


def update(
    policy: Policy,
    optimizer: Optimizer,
    algo: Algorithm,
    batch: Batch,
    hp: Hyper,
    batch_size: int,
    rng: np.random.Generator,
) -> UpdateStats:
    """Move the policy along the algorithm's gradient, minibatch by minibatch."""
    if batch.weights is not None and not batch.weights.any():
        return UpdateStats({}, 0, False)  # nothing to learn from: no step, and no number that is none
    network, distribution = policy.network, policy.distribution
    xp, n = network.xp, len(batch)
    network.begin_update(rng)
    batch = to_engine(network, batch)
    if batch.sequences is not None and batch_size == n:
        batch = batch.sequences.whole(network, batch)
    whole = algo.prepare(xp, batch) if batch_size == n else None  # then every epoch sees the same minibatch
    totals: dict[str, Any] = {}
    norms: Any = 0.0
    largest = batch.log_probs[0] * 0.0  # the engine's own zero
    minibatches = epochs = steps = 0
    stopped = False
    for _ in range(hp.n_epochs):
        epochs += 1
        for drawn in _minibatches(network, batch, batch_size, rng) if whole is None else (whole,):
            minibatch = whole or algo.prepare(xp, drawn)
            new, values = _forward(policy, minibatch)
            loss = algo.loss(xp, new, values, minibatch, hp)
            minibatches += 1
            loss.stats["train/kl"] = loss.kl
            for key, value in loss.stats.items():
                totals[key] = totals.get(key, 0.0) + value
            largest = xp.maximum(largest, loss.largest_ratio)
            if hp.target_kl is not None and float(loss.kl) > 1.5 * hp.target_kl:
                stopped = True  # before this step is taken: the policy has moved far enough
                break
            d_outputs, d_log_std = distribution.backward(xp, new, loss.d_log_prob, loss.d_entropy)
            network.backward(d_outputs, d_log_std, loss.d_values)
            norms = norms + optimizer.step(hp.lr, hp.max_grad_norm, hp.critic_lr)
            steps += 1
        if stopped:
            break
    metrics = {key: float(total) / minibatches for key, total in totals.items()}
    metrics["train/ratio/max"] = float(largest)
    if algo.measure_after:
        metrics |= _movement(policy, batch)
    metrics["opt/grad_norm"] = float(norms) / max(steps, 1)  # KL may have stopped before the first step
    return UpdateStats(metrics | optimizer.metrics(), epochs, stopped)


def _minibatches(network: Any, batch: Batch, size: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Every sample once, in random order; for a policy with a memory in whole sequences."""
    if batch.sequences is not None:
        yield from batch.sequences.minibatches(network, batch, size, rng)
        return
    shuffled = batch.rows(network.to_engine(rng.permutation(len(batch))))  # index once per epoch
    for start in range(0, len(batch), size):
        yield shuffled.rows(slice(start, start + size))


def _forward(policy: Policy, batch: Batch) -> tuple[Evaluated, Any]:
    """The policy as it is now on a batch: its actions' probabilities, and values [B]."""
    network, xp = policy.network, policy.network.xp
    outputs, log_std, values = network.forward(batch.x)
    if batch.masks is not None:
        outputs = masked(xp, outputs, batch.masks)
    return policy.distribution.evaluate(xp, outputs, log_std, batch.actions), values


def _movement(policy: Policy, batch: Batch) -> dict[str, float]:
    """How far the step has taken the policy from the one that acted."""
    new, _ = _forward(policy, batch)
    log_ratio = new.log_prob - batch.log_probs
    ratio = policy.network.xp.exp(log_ratio)
    kl = kl_estimate(log_ratio, ratio)
    if batch.weights is not None:
        kl, ratio = kl * (batch.weights / batch.weights.mean()), ratio * batch.weights
    return {"train/kl": float(kl.mean()), "train/ratio/max": float(ratio.max())}


def to_engine(network: Any, batch: Batch) -> Batch:
    """The batch as the engine's own arrays (shared memory where it can)."""
    batch = batch.map(network.to_engine)
    return replace(batch, x=network.arrange(batch.x)) if batch.sequences is None else batch
