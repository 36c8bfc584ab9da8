"""One update: epochs of minibatches over a batch, on either engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.algorithms.objective import Batch
from gymnast.algorithms.ppo import PPO, PPOHyper
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
    algo: PPO,
    batch: Batch,
    hp: PPOHyper,
    batch_size: int,
    rng: np.random.Generator,
) -> UpdateStats:
    """Move the policy along the algorithm's gradient, minibatch by minibatch."""
    network, distribution = policy.network, policy.distribution
    xp, n = network.xp, len(batch)
    batch = to_engine(network, batch)
    whole = algo.prepare(xp, batch) if batch_size == n else None  # then every epoch sees the same minibatch
    totals: dict[str, Any] = {}
    norms: Any = 0.0
    largest = batch.log_probs[0] * 0.0  # the engine's own zero
    minibatches = epochs = steps = 0
    stopped = False
    for _ in range(hp.n_epochs):
        epochs += 1
        if whole is None:
            shuffled = batch.rows(network.to_engine(rng.permutation(n)))  # index once per epoch
        for start in range(0, n, batch_size):
            minibatch = whole or algo.prepare(xp, shuffled.rows(slice(start, start + batch_size)))
            outputs, log_std, values = network.forward(minibatch.x)
            new = distribution.evaluate(xp, outputs, log_std, minibatch.actions)
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
            norms = norms + optimizer.step(hp.lr, hp.max_grad_norm)
            steps += 1
        if stopped:
            break
    metrics = {key: float(total) / minibatches for key, total in totals.items()}
    metrics["train/ratio/max"] = float(largest)
    metrics["opt/grad_norm"] = float(norms) / max(steps, 1)  # KL may have stopped before the first step
    return UpdateStats(metrics, epochs, stopped)


def to_engine(network: Any, batch: Batch) -> Batch:
    """The batch as the engine's own arrays (shared memory where it can)."""
    move = network.to_engine
    return Batch(
        move(batch.x),
        move(batch.actions),
        move(batch.log_probs),
        move(batch.values),
        move(batch.advantages),
        move(batch.returns),
    )
