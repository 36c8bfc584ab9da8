"""Observing an update: what is measured beside the learner's own metrics, every few updates.

The loop begins an observation with the rollout as it was collected; the learner shows it the targets, and the
weights before and after its update. Nothing here is random, and nothing that learns is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from gymnast.algorithms.batch import Batch
from gymnast.config.schema import Config
from gymnast.envs.spec import EnvSpec
from gymnast.metrics.settings import ObserveConfig
from gymnast.metrics.sinks.distributions_file import Snapshot
from gymnast.observe.cadence import Cadence, build_cadence
from gymnast.observe.data import data_metrics
from gymnast.observe.network import Weights, activation_metrics, parts_of
from gymnast.observe.snapshot import Snapshots
from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.memory_state import InRuns
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout
from gymnast.rollout.source import Collected, Episode

MOST_SAMPLES, MOST_IMAGES = 512, 256  # that go through the network once more
_EPISODES = 100  # whose returns are a distribution


class Observer:
    """Decides which updates are observed."""

    def __init__(
        self, settings: ObserveConfig, cadence: Cadence, policy: Policy, spec: EnvSpec, uses_critic: bool
    ) -> None:
        self.settings, self.cadence, self.policy = settings, cadence, policy
        self.parts = parts_of(policy.layout)
        self.snapshots = Snapshots(policy, spec, uses_critic) if settings.distributions else None

    def begin(self, update: int, collected: Collected, before: Iterable[Episode]) -> Observation | None:
        """The observation of the update with this number, if it is due; `before` are episodes that ended in
        earlier ones."""
        return Observation(self, collected, before) if self.cadence.due(update) else None


class Observation:
    """One update, observed."""

    def __init__(self, observer: Observer, collected: Collected, before: Iterable[Episode]) -> None:
        self._observer, self._policy = observer, observer.policy
        self._weights: Weights | None = None
        self._metrics: dict[str, float] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self.snapshot: Snapshot | None = None
        if observer.snapshots is not None:
            latest = [*collected.episodes[::-1], *reversed(tuple(before))]
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # a reward that is not finite fails in the update
                self._metrics |= data_metrics(self._policy, collected.rollout, collected.episodes)
                recent = list(islice(latest, _EPISODES))
                self._arrays |= observer.snapshots.of_rollout(collected.rollout, recent)

    def targets(self, batch: Batch) -> None:
        """What the update learns from, before parts change its targets."""
        if self._observer.snapshots is not None:
            self._arrays |= self._observer.snapshots.of_batch(batch)

    def before_update(self) -> None:
        if self._observer.settings.network:
            self._weights = Weights(self._policy.network, self._observer.parts)

    def after_update(self, rollout: Rollout, steps: int, last_norm: Any) -> dict[str, float]:
        """All metrics of the observation, once the update has taken so many gradient steps, of which the last
        one's gradient had this norm."""
        x, rows = _samples(self._policy, rollout)
        seen = self._policy.network.look(x)
        metrics = self._metrics
        if self._weights is not None:
            metrics |= self._weights.metrics(steps, float(last_norm)) | activation_metrics(seen.layers)
        if (snapshots := self._observer.snapshots) is not None:
            masks = rollout.masks
            allowed = None if masks is None else masks[:-1].reshape(-1, masks.shape[2])[rows]
            self.snapshot = snapshots.joined(self._arrays | snapshots.of_outputs(seen, allowed))
        return metrics


def _samples(policy: Policy, rollout: Rollout) -> tuple[Any, np.ndarray]:
    """Some of a rollout's inputs [B, …] as the engine's own, spread over steps and envs, and their rows."""
    network, sequences, x = policy.network, rollout.sequences, rollout.x
    most = MOST_SAMPLES if policy.layout.encoder is None else MOST_IMAGES
    if sequences is None or policy.recurrent is None:
        rows = spread_rows(len(x), most)
        return network.to_engine(_taken(network, x, rows)), rows
    chosen = spread_rows(sequences.count, max(1, most // sequences.length))
    index, runs = sequences.runs_of(network, np.sort(chosen))
    rows = index.cpu().numpy()
    return InRuns(network.to_engine(_taken(network, x, rows)), runs), rows


def _taken(network: Any, x: Any, rows: np.ndarray) -> Any:
    if isinstance(x, np.ndarray):
        return x.take(rows, 0)
    if isinstance(x, StackedRows):
        return x[rows].stacked()
    return x.index_select(0, network.to_engine(rows))


def spread_rows(count: int, most: int) -> np.ndarray:
    """At most `most` of `count` rows. Steps of the golden section do not fall in with any number of envs."""
    if count <= most:
        return np.arange(count)
    return np.unique((np.arange(most) * 0.6180339887498949 % 1.0 * count).astype(np.int64))


def build_observer(
    config: Config,
    policy: Policy,
    spec: EnvSpec,
    *,
    uses_critic: bool,
    total_steps: int | None,
    rollout_steps: int,
    n_epochs: int,
) -> Observer | None:
    """None if the config asks for nothing."""
    settings = config.observe
    if not (settings.network or settings.distributions):
        return None
    cadence = build_cadence(total_steps, rollout_steps, n_epochs)
    return Observer(settings, cadence, policy, spec, uses_critic)
