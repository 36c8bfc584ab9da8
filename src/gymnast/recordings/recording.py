"""What a recording is: a trace, its pictures as a browser shows them, and what was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnast.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    """One recording as lists show it."""

    id: str  # RUN-NUMBER
    run: str
    env: str
    checkpoint: int | None  # env steps of the weights; None where no policy played
    seed: int
    stochastic: bool
    task: str | None
    steps: int
    returns: tuple[float, ...]  # of each episode
    created: str
    player: str = "policy"  # or `human`, `random`, `mixed`: who chose the actions
    overrides: dict[str, Any] = field(default_factory=dict)
    rendered: bool = True  # whether the env drew the pictures itself; otherwise its observations are drawn

    @classmethod
    def of(cls, trace: Trace, *, name: str, run: str, **others: Any) -> RecordingInfo:
        """What a trace says of itself, and what else is known."""
        meta = trace.meta
        return cls(
            id=name,
            run=run,
            env=meta.env_id,
            checkpoint=meta.checkpoint,
            seed=meta.seed,
            stochastic=meta.sampled,
            task=meta.task,
            steps=len(trace.steps),
            returns=tuple(trace.returns),
            created=meta.created,
            **others,
        )

    @property
    def episodes(self) -> int:
        return len(self.returns)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "run": self.run,
            "env": self.env,
            "checkpoint": self.checkpoint,
            "seed": self.seed,
            "stochastic": self.stochastic,
            "task": self.task,
            "steps": self.steps,
            "episodes": self.episodes,
            "return": float(np.mean(self.returns)) if self.returns else None,
            "returns": list(self.returns),
            "created": self.created,
            "player": self.player,
            "overrides": self.overrides,
            "rendered": self.rendered,
        }


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a column of numbers can be, component by component; None: without limit."""

    low: tuple[float | None, ...]
    high: tuple[float | None, ...]

    def to_json(self) -> dict[str, Any]:
        return {"low": list(self.low), "high": list(self.high)}


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in memory. The trace has no pictures of its own unless it was recorded with them."""

    info: RecordingInfo
    trace: Trace
    pictures: tuple[bytes, ...]  # encoded, one for each row; none where there are none
    mime: str
    bounds: dict[str, Bounds]  # of `obs`, `obs/PART`, `action`
