"""What a tracker's library is asked to do, inside the tracker's own process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast.metrics.sinks.trackers.histograms import Histogram

Row = dict[str, float | int]


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """The run that is tracked; `env_steps` is not 0 if it is resumed."""

    id: str
    path: Path
    name: str
    algo: str
    env: str
    env_steps: int
    config: Mapping[str, Any]  # secrets hidden
    known: Mapping[str, Any]  # what `connect` returned when the run was tracked before
    pid: int  # of the process that trains

    @property
    def title(self) -> str:
        return f"{self.algo}-{self.id}"


class Backend:
    """Built with the tracker's settings as they are in `settings.py`. May raise and block as it likes."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.x_axis = f"time/{settings['x_axis']}"

    def connect(self, run: TrackedRun) -> dict[str, Any]:
        """Import the library and begin; what trackers.json is to keep for a resume."""
        raise NotImplementedError

    def row(self, row: Row) -> None:
        """The metrics of an update."""
        raise NotImplementedError

    def distributions(self, histograms: Mapping[str, Histogram]) -> None:
        """How things are distributed in the update whose row comes next."""

    def alert(self, alert: Mapping[str, str], row: Row) -> None:
        """An alert was raised, in the update of this row."""

    def video(self, path: Path, env_steps: int, row: Row) -> None:
        """A video was written; `row` is the last one so far."""

    def checkpoint(self, env_steps: int, reason: str, row: Row) -> None:
        """A checkpoint was written."""

    def explain(self, error: BaseException) -> str:
        """What went wrong, in one line, with the way out if there is one."""
        text, kind = " ".join(str(error).split()), type(error).__name__
        return text if kind == "GymnastError" else f"{kind}: {text}" if text else kind

    def finish(self, exit_code: int, summary: Mapping[str, Any], seconds: float) -> None:
        """Deliver what is left, within about so many seconds."""
