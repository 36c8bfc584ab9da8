"""One leg of one run, how it stands, and what trains such legs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

TrialStatus = Literal["queued", "running", "paused", "finished", "failed", "stopped", "lost"]
HUNG_AFTER = 600.0  # seconds without a sign of life: neither a step of its envs nor an update
ENDED: tuple[TrialStatus, ...] = ("paused", "finished", "failed", "stopped", "lost")


@dataclass(frozen=True, slots=True)
class Trial:
    """Train a run up to some step. If the run exists already, it continues from its last checkpoint, exactly,
    so the same trial may be ordered again at any time."""

    run_id: str  # derived by whoever orders it, so that a second driver finds the same run
    reference: str  # a preset or a file
    overrides: Mapping[str, Any] = field(default_factory=dict)  # plain data by dotted key, the seed too
    # Env steps at which this leg ends, at the end of an update. The run's own budget stays whole, so that
    # schedules see all of it; a later leg ends with the bits of a run that never stopped.
    stop_at: int | None = None
    init_from: str | None = None  # RUN or RUN/CHECKPOINT: a policy to start from
    # RUN/STEP: a new run with the whole training state of that checkpoint, which continues with these
    # overrides. Its run.json says where it came from.
    fork_from: str | None = None
    no_progress_limit: float | None = None  # seconds without a sign of life after which it counts as hung
    config_dirs: tuple[str, ...] = ()  # searched for the reference before the folders that always are

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"overrides": dict(self.overrides), "config_dirs": list(self.config_dirs)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Trial:
        return cls(**{**values, "config_dirs": tuple(values.get("config_dirs", ()))})


@dataclass(frozen=True, slots=True)
class TrialState:
    """How a trial stands.

    paused: it reached its `stop_at`. finished: the run is over (budget spent, solved, a stop rule). failed:
    it cannot continue (NaN, an env that raises, a setting that does not load) or made no progress for too
    long. stopped: on request, and saved. lost: its process died; ordered again, it continues from its last
    checkpoint.
    """

    run_id: str
    status: TrialStatus
    env_steps: int = 0
    message: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class Executor(Protocol):
    """Trains trials, some at once, the others in the order in which they came."""

    @property
    def capacity(self) -> int:
        """How many it trains at once."""

    @property
    def exhausted(self) -> str | None:
        """Why nothing more can be trained, where there is a limit to that and it is reached."""

    def submit(self, trial: Trial) -> None:
        """Order a trial; returns at once."""

    def poll(self, seconds: float = 0.0) -> list[TrialState]:
        """The states that changed since the last call, each trial at most once; waits for one that long."""

    def stop(self, run_id: str) -> None:
        """Have a trial save and stop; `poll` says when it has. Nothing happens to one that has ended."""

    def close(self) -> None:
        """Stop all trials and release everything."""
