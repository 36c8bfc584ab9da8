"""The folders of sweeps, beside the runs: the only code that knows the paths in one.

runs/sweeps/
  k3v9x0/
    sweep.json      the plan and what is known of each trial (state.py)
    journal.log     of a Bayesian sweep: Optuna's, written again when a driver begins
    report.md       what came of it, with its pictures in report/
    stop.json       somebody asks the driver to stop
    .lock           held by the driver
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.runs.files import MOST_JSON, UnsafeFile, is_regular, parse_json, read_bytes, remove, write_atomic
from gymnast.sweeps.state import SweepState
from gymnast.trials.folders import create_folder, find_folder, folders_of, held, is_held

_KINDS, _STATE = "sweeps", "sweep.json"


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """One sweep folder."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def runs_root(self) -> Path:
        return self.path.parent.parent

    @property
    def state_path(self) -> Path:
        return self.path / _STATE

    @property
    def journal_path(self) -> Path:
        return self.path / "journal.log"

    @property
    def report_path(self) -> Path:
        return self.path / "report.md"

    @property
    def pictures(self) -> Path:
        return self.path / "report"

    @property
    def stop_path(self) -> Path:
        return self.path / "stop.json"

    @property
    def lock_path(self) -> Path:
        return self.path / ".lock"

    def read(self) -> SweepState:
        """GymnastError if the file is missing or damaged."""
        try:
            return SweepState.from_json(parse_json(read_bytes(self.state_path, MOST_JSON)))
        except (OSError, ValueError, UnsafeFile) as error:
            raise GymnastError(f"sweep {self.id}: {self.state_path} cannot be read: {error}") from error

    def write(self, state: SweepState, *, durable: bool = False) -> None:
        text = json.dumps(state.to_json(), allow_nan=False, separators=(",", ":"))
        write_atomic(self.state_path, text + "\n", durable=durable)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the sweep to work on it."""
        busy = f"sweep {self.id} is being worked on by another process; stop it with: "
        with held(self.lock_path, busy + f"gymnast sweep stop {self.id}"):
            remove(self.stop_path)  # it was meant for the driver before
            yield

    def is_driven(self) -> bool:
        """Whether a process works on it now."""
        return is_held(self.lock_path)

    def ask_to_stop(self) -> None:
        write_atomic(self.stop_path, "{}\n", durable=False)

    def stop_asked(self) -> bool:
        return is_regular(self.stop_path)


def create_sweep(root: Path) -> SweepFolder:
    """A new, empty folder with an id of its own."""
    return SweepFolder(create_folder(root, _KINDS))


def sweep_folders(root: Path) -> list[SweepFolder]:
    """Every sweep of a runs folder, the newest first."""
    return [SweepFolder(path) for path in folders_of(root, _KINDS, _STATE)]


def find_sweep(root: Path, reference: str) -> SweepFolder:
    """The sweep that `reference` names: an id, the beginning of one, or @last."""
    return SweepFolder(find_folder(root, _KINDS, _STATE, reference))
