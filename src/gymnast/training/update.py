"""One update: epochs of minibatches over a batch, on either engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gymnast.algorithms.algorithm import Algorithm, Hyper
from gymnast.algorithms.batch import Batch
from gymnast.algorithms.objective import Loss, kl_estimate
from gymnast.parts.part import Forward, Part, PartLoss
from gymnast.policies.distributions import Evaluated
from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.policy import Optimizer, Policy
from gymnast.spaces.masks import masked


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Means over all minibatches of the update."""

    metrics: dict[str, float]
    epochs: int  # passes that were started
    stopped_by_kl: bool
    steps: int = 0
    last_norm: Any = 0.0  # of the last step's gradient, before it was clipped; maybe still on a device


def update(
    policy: Policy,
    optimizer: Optimizer,
    algo: Algorithm,
    batch: Batch,
    hp: Hyper,
    batch_size: int,
    rng: np.random.Generator,
    parts: Sequence[Part] = (),
    *,
    measure_start: bool = False,
) -> UpdateStats:
    """Move the policy along the gradient of the algorithm and the parts' losses, minibatch by minibatch.

    `measure_start`: whether ratios are 1 before the first step, so that it is worth knowing if they are not.
    """
    if batch.weights is not None and not batch.weights.any():
        return UpdateStats({}, 0, False)  # nothing to learn from: no step, and nothing to report
    network = policy.network
    with network.updating(rng):
        xp, n = network.xp, len(batch)
        batch = to_engine(network, batch)
        if batch.sequences is not None and batch_size == n:
            batch = batch.sequences.whole(network, batch)
        # With one minibatch per epoch, every epoch sees the same one.
        whole = algo.prepare(xp, batch) if batch_size == n else None
        adding = tuple(part for part in parts if part.adds_loss)
        steps = _Steps(policy, optimizer, algo, hp, adding, measure_start)
        minibatches = (whole,) if whole is not None else None
        stopped = False
        epochs = 0
        for _ in range(hp.n_epochs):
            epochs += 1
            for drawn in minibatches or _minibatches(network, batch, batch_size, rng):
                if not steps.learn(drawn, prepared=whole is not None):
                    stopped = True
                    break
            if stopped:
                break
        metrics = steps.metrics()
        if algo.measure_after:
            metrics |= _movement(policy, batch)
        return UpdateStats(metrics | optimizer.metrics(), epochs, stopped, steps.steps, steps.last_norm)


def measured_from_here(policy: Policy, batch: Batch) -> Batch:
    """The batch with KL measured from the policy as it is now, at the beginning of an update.

    Measured from an older policy that collected, KL would count what the update before has moved: after a
    long update the next one would stop before its first step. The objective's ratios stay as they are.
    Not for a policy with a memory, which never learns from rollouts of an older one.
    """
    log_probs, _ = policy.evaluate_actions(batch.x, batch.actions, batch.masks)
    return replace(batch, start_log_probs=log_probs)


class _Steps:
    """Gradient steps one after the other, and the means of their metrics."""

    def __init__(
        self,
        policy: Policy,
        optimizer: Optimizer,
        algo: Algorithm,
        hp: Hyper,
        parts: tuple[Part, ...],
        measure_start: bool,
    ) -> None:
        self.policy, self.optimizer, self.algo, self.hp, self.parts = policy, optimizer, algo, hp, parts
        self.totals: dict[str, Any] = {}
        self.largest: Any = None
        self.seen = self.steps = 0  # minibatches evaluated, and steps taken
        self._measure_start = measure_start
        self._start: tuple[Any, Any] | None = None  # largest ratio and lowest log ratio before the first step
        self._last_norm: Any = 0.0
        self._graph: Any = None
        self._size = 0  # of the minibatches that the recording is for

    def learn(self, minibatch: Batch, *, prepared: bool) -> bool:
        """One step; False, and no step, if the policy has moved as far as target_kl allows."""
        if self._records(minibatch, prepared):
            self._replay(minibatch)
            return True
        loss = self._gradient(minibatch, prepared)
        if loss is None:
            return False
        norm = self.optimizer.step(self.hp.lr, self.hp.max_grad_norm, self.hp.critic_lr)
        self.steps += 1
        self._last_norm = norm
        self.totals["opt/grad_norm"] = self.totals.get("opt/grad_norm", 0.0) + norm
        return True

    def _gradient(self, minibatch: Batch, prepared: bool) -> Loss | None:
        """Into the flat vector; None if target_kl stops the update here."""
        loss, new, added = self._loss(minibatch, prepared)
        if self._measure_start and self.seen == 0:
            self._start = loss.largest_ratio, (new.log_prob - minibatch.log_probs).min()
        self.seen += 1
        for key, value in loss.stats.items():
            self.totals[key] = self.totals.get(key, 0.0) + value
        ratio = loss.largest_ratio
        self.largest = ratio if self.largest is None else self.policy.network.xp.maximum(self.largest, ratio)
        target = self.hp.target_kl
        if target is not None and float(loss.kl) > 1.5 * target:
            return None  # before this step is taken: the policy has moved far enough
        self._backward(loss, new, added)
        return loss

    def _loss(self, minibatch: Batch, prepared: bool) -> tuple[Loss, Evaluated, list[PartLoss]]:
        """The algorithm's loss, the distribution it is of, and what parts add."""
        xp = self.policy.network.xp
        minibatch = minibatch if prepared else self.algo.prepare(xp, minibatch)
        outputs, log_std, values = _forward(self.policy, minibatch)
        new = self.policy.distribution.evaluate_actions(xp, outputs, log_std, minibatch.actions)
        loss = self.algo.loss(xp, new, values, minibatch, self.hp)
        if minibatch.start_log_probs is not None:
            moved = new.log_prob - minibatch.start_log_probs
            loss.kl = kl_estimate(moved, xp.exp(moved)).mean()
        loss.stats["train/kl"] = loss.kl
        added: list[PartLoss] = []
        if self.parts:
            forward = Forward(outputs, log_std, values, self.policy.network.features())
            losses = (part.loss(xp, forward, minibatch, self.hp) for part in self.parts)
            added = [each for each in losses if each is not None]
            for each in added:
                loss.stats |= each.stats
                loss.stats["train/loss/total"] = loss.stats["train/loss/total"] + each.value
        return loss, new, added

    def _backward(self, loss: Loss, new: Evaluated, added: list[PartLoss]) -> None:
        network, distribution = self.policy.network, self.policy.distribution
        d_outputs, d_log_std = distribution.backward(network.xp, new, loss.d_log_prob, loss.d_entropy)
        d_values, d_features = loss.d_values, None
        for each in added:
            d_outputs = _sum(d_outputs, each.d_outputs)
            d_log_std = _sum(d_log_std, each.d_log_std)
            d_values = _sum(d_values, each.d_values)
            d_features = _sum(d_features, each.d_features)
        network.backward(d_outputs, d_log_std, d_values, d_features)

    def _records(self, minibatch: Batch, prepared: bool) -> bool:
        """Whether this step is replayed from a recording; the first one of an update never is."""
        if self._graph is not None:
            return len(minibatch) == self._size
        if self.parts or not (self.policy.network.records and self.hp.target_kl is None and self.steps == 1):
            return False  # a part may do things that cannot be recorded
        if minibatch.sequences is not None or minibatch.weights is not None or self.hp.n_epochs < 2:
            return False
        if isinstance(minibatch.x, StackedRows):
            return False  # its frames lie elsewhere in every update
        from gymnast.policies.torch.graphs import StepGraph

        self._size = len(minibatch)
        self._graph = StepGraph(partial(self._recorded_step, prepared=prepared), minibatch)
        self.optimizer.advance(-1)  # recording a step does not take it
        return True

    def _recorded_step(self, minibatch: Batch, prepared: bool) -> dict[str, Any]:
        loss, new, added = self._loss(minibatch, prepared)
        self._backward(loss, new, added)
        norm = self.optimizer.step(self.hp.lr, self.hp.max_grad_norm, self.hp.critic_lr)
        return {**loss.stats, "opt/grad_norm": norm, "train/ratio/max": loss.largest_ratio}

    def _replay(self, minibatch: Batch) -> None:
        self._graph(minibatch)
        self._last_norm = None  # where the recording keeps it
        self.optimizer.advance(1)
        self.seen += 1
        self.steps += 1

    @property
    def last_norm(self) -> Any:
        return self._graph.latest("opt/grad_norm") if self._last_norm is None else self._last_norm

    def metrics(self) -> dict[str, float]:
        """Means over the minibatches; of the norm, over the steps that were taken."""
        totals = {key: float(total) for key, total in self.totals.items()}
        largest = float(self.largest)
        if self._graph is not None:
            for key, (total, most) in self._graph.totals().items():
                if key == "train/ratio/max":
                    largest = max(largest, most)
                else:
                    totals[key] += total
        norm = totals.pop("opt/grad_norm", 0.0) / max(self.steps, 1)
        means = {key: total / self.seen for key, total in totals.items()}
        if self._start is not None:
            highest, lowest = float(self._start[0]), float(self._start[1])
            means["train/ratio/start"] = max(highest - 1.0, 1.0 - math.exp(min(lowest, 0.0)))
        return means | {"train/ratio/max": largest, "opt/grad_norm": norm}


def _minibatches(network: Any, batch: Batch, size: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Every sample once, in random order; for a policy with a memory in whole sequences."""
    if batch.sequences is not None:
        yield from batch.sequences.minibatches(network, batch, size, rng)
        return
    shuffled = batch.rows(network.to_engine(rng.permutation(len(batch))))  # index once per epoch
    for start in range(0, len(batch), size):
        yield shuffled.rows(slice(start, start + size))


def _forward(policy: Policy, batch: Batch) -> tuple[Any, Any, Any]:
    """Masked outputs, log std and values of the current policy."""
    outputs, log_std, values = policy.network.forward(batch.x)
    if batch.masks is not None:
        outputs = masked(policy.network.xp, outputs, batch.masks)
    return outputs, log_std, values


def _sum(derivative: Any, further: Any) -> Any:
    """The sum of two derivatives, each of which may be missing."""
    if derivative is None or further is None:
        return further if derivative is None else derivative
    return derivative + further


def _movement(policy: Policy, batch: Batch) -> dict[str, float]:
    """How far the step has taken the policy from the one that acted."""
    outputs, log_std, _ = _forward(policy, batch)
    new = policy.distribution.evaluate_actions(policy.network.xp, outputs, log_std, batch.actions)
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
