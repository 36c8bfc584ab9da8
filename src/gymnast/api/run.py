"""A run in the hands of a caller, and how every use-case finds runs and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from gymnast.config.schema import Config
    from gymnast.metrics.alerts.alert import Alert
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

    def alerts(self) -> list[Alert]:
        """What was found of its health, by id."""
        from gymnast.runs.alerts import read_alerts

        return read_alerts(self.folder)

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


def folder_of(run: str | Path | Run | RunFolder, runs_dir: str | Path | None = None) -> RunFolder:
    """The folder of a run, or of the one that a reference (an id, `@last`, a path …) names."""
    from gymnast.runs.references import find_run
    from gymnast.runs.store import RunFolder, runs_root

    if isinstance(run, Run):
        return run.folder
    return run if isinstance(run, RunFolder) else find_run(runs_root(runs_dir), _reference(run))


def _reference(run: str | Path) -> str:
    """A path is one even without a slash in it."""
    return str(run.absolute()) if isinstance(run, Path) else run


def log_printed(run: RunFolder) -> None:
    """What envs print from here on goes to the run's log, where it is captured (`captured_output`)."""
    from functools import partial

    from gymnast.processes.output import send_to
    from gymnast.training.run.log import append_to_log

    send_to(partial(append_to_log, run.log_path, mark="env: "))


def find_checkpoint(reference: str | Path | Run, runs_dir: str | Path | None = None) -> Checkpoint:
    """The checkpoint that `RUN/CHECKPOINT` names; of a run alone its best, else its last."""
    from gymnast.runs import references
    from gymnast.runs.store import runs_root

    if isinstance(reference, Run):
        return references.resolve(reference.folder)
    return references.find_checkpoint(runs_root(runs_dir), _reference(reference))


def read_weights(
    reference: str | Path | Run, runs_dir: str | Path | None = None
) -> tuple[dict[str, np.ndarray], Checkpoint]:
    """The weights of a checkpoint and where they lie."""
    from gymnast.runs.checkpoint import load_policy_arrays

    checkpoint = find_checkpoint(reference, runs_dir)
    return load_policy_arrays(checkpoint)[0], checkpoint


def read_checkpoint(
    reference: str | Path | Run,
    runs_dir: str | Path | None = None,
    *,
    overrides: Overrides = (),
    trust: bool = False,
) -> tuple[dict[str, np.ndarray], Checkpoint, Config]:
    """Weights, where they lie, and the config that they were trained with, with the user's overrides."""
    from gymnast.runs.trust import load_run_config

    arrays, checkpoint = read_weights(reference, runs_dir)
    config = load_run_config(checkpoint.run, overrides, file=checkpoint.config_path(), trust=trust)
    return arrays, checkpoint, config
