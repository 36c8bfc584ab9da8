"""Traces: what a checkpoint saw, decided and got, step by step, as data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.arguments import maybe_whole, whole
from gymnast.api.run import Overrides, Run, find_checkpoint
from gymnast.traces.store import load_trace, save_trace
from gymnast.traces.table import steps_table, to_csv

if TYPE_CHECKING:
    from gymnast.traces.trace import Trace

__all__ = ["load_trace", "record_trace", "save_trace", "steps_csv", "steps_table"]

steps_csv = to_csv


def record_trace(
    reference: str | Path | Run = "@last",
    *,
    episodes: int = 1,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    frames: bool = True,
    max_steps: int = 5000,
    runs_dir: str | Path | None = None,
    overrides: Overrides = (),
    trust: bool = False,
) -> Trace:
    """Record episodes of a checkpoint (of a run: its best, else its last).

    Without a seed they are the first ones that training evaluated on. `frames` keeps a picture of each step.
    `overrides` and `trust` are as in `evaluate`.
    """
    from gymnast.traces.checkpoint import record_trace_of_checkpoint

    return record_trace_of_checkpoint(
        find_checkpoint(reference, runs_dir),
        episodes=whole("episodes", episodes, 1),
        max_steps=whole("max_steps", max_steps, 1),
        stochastic=stochastic,
        seed=maybe_whole("seed", seed),
        task=task,
        frames=frames,
        overrides=overrides,
        trust=trust,
    )
