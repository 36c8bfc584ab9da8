"""What a learner notes about its actors while it steps them, and the metrics that this becomes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymnast.envs.backends.groups import groups_of
from gymnast.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from gymnast.envs.contract import Envs

METRICS = (
    MetricSpec("time/actors/connected", "Actors that step envs of this run.", "", 0, low=0, priority=1),
    MetricSpec("time/actors/spare", "Actors that have dialled in and wait for a place.", "", 0, low=0),
    MetricSpec(
        "time/actors/wait_seconds",
        "Seconds of the rollout that the learner spent waiting for actors.",
        "s",
        3,
        low=0,
        better="lower",
    ),
    MetricSpec(
        "time/actors/queue_depth",
        "Actors whose step was there already when the learner came for it, mean: all of them where the"
        " learner is the slower side, none where they are.",
        "",
        2,
        low=0,
    ),
    MetricSpec(
        "time/actors/bytes_per_second",
        "What actors sent, over the time since the last rollout.",
        "B/s",
        0,
        low=0,
    ),
    MetricSpec(
        "time/actors/most_lost",
        "How often the actor was lost in the place where that happened most.",
        "",
        0,
        low=0,
        better="lower",
    ),
    MetricSpec(
        "time/actor/*/steps_per_second",
        "Env steps of this actor per second of its own work, waiting and the network left out.",
        "1/s",
        0,
        low=0,
        better="higher",
        priority=3,
    ),
    MetricSpec(
        "time/actor_lost/*",
        "How often the actor in this place was lost, since the run was started or resumed.",
        "",
        0,
        low=0,
        better="lower",
        priority=3,
    ),
)


@dataclass(slots=True)
class Tally:
    """Of one place for an actor, whoever fills it, since it was last read."""

    steps: int = 0
    busy: int = 0  # µs
    waited: float = 0.0  # s
    received: int = 0  # bytes


class ActorTallies:
    """Of all places of one set of envs."""

    def __init__(self) -> None:
        self.places: dict[int, Tally] = {}  # by the first row
        self.asked = self.ready = 0  # receives, and the answers that were there already, in all
        self._read = time.monotonic()

    def place(self, first: int) -> Tally:
        return self.places.setdefault(first, Tally())

    def take(self, now: float) -> dict[str, Any]:
        """Sums since the last time; counting starts again."""
        sums = {
            "seconds": now - self._read,
            "waited": sum(tally.waited for tally in self.places.values()),
            "received": sum(tally.received for tally in self.places.values()),
            "asked": self.asked,
            "ready": self.ready,
            "rates": [1e6 * t.steps / t.busy if t.busy else None for t in self.places.values()],
        }
        for tally in self.places.values():
            tally.steps = tally.busy = tally.received = 0
            tally.waited = 0.0
        self.asked = self.ready = 0
        self._read = now
        return sums


def actor_metrics(envs: Envs) -> dict[str, float]:
    """What there is to report about the actors of these envs; nothing if they have none."""
    remote: list[Any] = [group.envs for group in groups_of(envs) if group.envs.backend == "remote"]
    remote = [part for part in remote if hasattr(part, "tallies")]  # not the tasks of a mix
    if not remote:
        return {}
    now = time.monotonic()
    taken = [part.tallies.take(now) for part in remote]
    metrics: dict[str, float] = {
        "time/actors/connected": sum(part.connected for part in remote),
        # Groups that listen at one port share those that wait.
        "time/actors/spare": sum({id(part.listener): part.listener.idle for part in remote}.values()),
        "time/actors/wait_seconds": sum(sums["waited"] for sums in taken),
        "time/actors/queue_depth": sum(sums["ready"] / max(1, sums["asked"]) for sums in taken),
        "time/actors/bytes_per_second": sum(sums["received"] / max(1e-9, sums["seconds"]) for sums in taken),
    }
    rates = [rate for sums in taken for rate in sums["rates"]]
    losses = [lost for part in remote for lost in part.losses]
    metrics["time/actors/most_lost"] = max(losses)
    known = [rate for rate in rates if rate is not None]
    if known:
        metrics["time/actors/slowest"] = min(known) * len(known) / sum(known)
    for index, (rate, lost) in enumerate(zip(rates, losses, strict=True)):
        if rate is not None:
            metrics[f"time/actor/{index}/steps_per_second"] = rate
        metrics[f"time/actor_lost/{index}"] = lost
    return metrics
