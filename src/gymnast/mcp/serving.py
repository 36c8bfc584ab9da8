"""What whoever started the server allows it, and where its runs are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs.store import RunFolder

START = "start-"  # begins the id of a start, until its run has one (starts.py)


@dataclass(frozen=True, slots=True)
class Serving:
    """The settings of one server."""

    runs_dir: Path | None = None
    config_dirs: tuple[Path, ...] = ()
    trust: bool = False  # whether configs and runs may name code to import
    allow_publish: bool = False  # whether it may upload without asking
    most_running: int = 4  # trainings at a time

    def run(self, reference: str) -> RunFolder:
        """The run that a client names; nothing leaves the runs folder."""
        if reference.startswith(START):
            raise GymnastError(f"{reference} is being started: watch_run gives the id of its run")
        return api.outside_run(reference, runs_dir=self.runs_dir)

    def refuse_crowd(self, starting: int = 0) -> None:
        """Raise if as many trainings as allowed are under way, those that are being started included."""
        training = [entry.id for entry in api.list_runs(status="running", runs_dir=self.runs_dir)]
        if len(training) + starting < self.most_running:
            return
        shown = [*training[:8], *([f"{starting} being started"] if starting else [])]
        raise GymnastError(
            f"{len(training) + starting} runs are being trained already ({', '.join(shown)}): wait for one"
            " with watch_run, or end one with stop_training"
        )
