"""Where rollouts come from: envs stepped now or ahead; later a dataset, a replay or remote actors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from gymnast.policies.policy import Policy
    from gymnast.rollout.buffer import Rollout

Progress = Callable[[int, int], None]  # so many of so many are done; may raise Interrupted


class Interrupted(Exception):
    """The run has to end before this rollout or evaluation is complete."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished training episode."""

    total: float  # sum of rewards, wrappers' parts included
    plain: float  # the env's own rewards alone
    length: int
    values: dict[str, float] = field(default_factory=dict)  # what the env reported (`Envs.episode_values`)
    task: int = 0  # of a mix, by number
    truncated: bool = False  # cut off, by a time limit for example, before a terminal state


@dataclass(frozen=True, slots=True)
class Collected:
    """A rollout, the episodes that ended in it, and the metrics of both."""

    rollout: Rollout
    episodes: list[Episode]
    metrics: dict[str, float]


class Source(Protocol):
    """Provides rollouts to learn from."""

    @property
    def steps_done(self) -> int:
        """Vectorised steps of the rollout being collected, to report where an env failed."""

    def next_inputs(self) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Observations [N, …] and masks to act on next, for checks at the start; None without envs."""

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Progress | None = None
    ) -> Collected:
        """The next rollout. If `progress` raises Interrupted, so does this: call `drop` then."""

    def drop(self) -> None:
        """Give up what is being collected. Nothing can be collected after it; `state` is then of new
        episodes, which a resumed run starts with."""

    def state(self) -> dict[str, Any] | None:
        """What a resumed run needs to continue with the very same data; None if nothing is known."""

    def load_state(self, policy: Policy, state: dict[str, Any]) -> str | None:
        """Continue from `state`; a notice if that cannot be done exactly."""

    def close(self) -> None:
        """Drop what is being collected, and wait for its end."""
