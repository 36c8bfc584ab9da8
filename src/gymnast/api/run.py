"""A run in the hands of a caller, and how every use-case finds runs and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from gymnast.config.schema import Config
    from gymnast.runs.checkpoint import Checkpoint
    from gymnast.runs.store import RunFolder
    from gymnast.training.run.outcome import Outcome

Overrides = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Run:
    """A trained run: its folder and how it ended."""

    folder: RunFolder
    outcome: Outcome

    @property
    def id(self) -> str:
        return self.folder.id

    @property
    def path(self) -> Path:
        return self.folder.path

    def metrics(self) -> list[dict[str, Any]]:
        """One row per update, as metrics.csv has them."""
        from gymnast.metrics.csv_file import read_metrics

        return read_metrics(self.folder.metrics_path)

    def to_json(self) -> dict[str, Any]:
        """What `gymnast train --json` prints."""
        outcome = self.outcome
        return {
            "id": self.id,
            "path": str(self.path),
            "status": outcome.status,
            "reason": outcome.reason,
            "env_steps": outcome.env_steps,
            "seconds": outcome.seconds,
            "best_score": outcome.best_score,
            "last_score": outcome.last_score,
            "solved": outcome.solved,
        }


def folder_of(run: str | Run, runs_dir: str | Path | None = None) -> RunFolder:
    """The folder of a run, or of the one that a reference (an id, `@last` …) names."""
    if isinstance(run, Run):
        return run.folder
    from gymnast.runs.references import find_run
    from gymnast.runs.store import runs_root

    return find_run(runs_root(runs_dir), run)


def log_printed(run: RunFolder) -> None:
    """What envs print from here on goes to the run's log, where it is captured (`captured_output`)."""
    from functools import partial

    from gymnast.processes.output import send_to
    from gymnast.training.run.log import append_to_log

    send_to(partial(append_to_log, run.log_path, mark="env: "))


def find_checkpoint(reference: str | Run, runs_dir: str | Path | None = None) -> Checkpoint:
    """The checkpoint that `RUN/CHECKPOINT` names; of a run alone its best, else its last."""
    from gymnast.runs import references
    from gymnast.runs.checkpoint import resolve
    from gymnast.runs.store import runs_root

    if isinstance(reference, Run):
        return resolve(reference.folder)
    return references.find_checkpoint(runs_root(runs_dir), reference)


def read_checkpoint(
    reference: str | Run, runs_dir: str | Path | None = None
) -> tuple[dict[str, np.ndarray], Checkpoint, Config]:
    """Weights, where they lie, and the config of the run they belong to."""
    from gymnast.config.load import load_config
    from gymnast.runs.checkpoint import load_policy_arrays

    checkpoint = find_checkpoint(reference, runs_dir)
    arrays, _ = load_policy_arrays(checkpoint)
    return arrays, checkpoint, load_config(str(checkpoint.run.config_path)).config
