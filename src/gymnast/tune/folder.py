"""The folders of tunes, beside the runs: the only code that knows the paths in one.

runs/tunes/
  k3v9x0/
    tune.json       the plan, the rounds and what they cost (state.py)
    report.md       what came of it, with its picture curves.png
    .lock           held by the driver
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.runs.files import MOST_JSON, UnsafeFile, parse_json, read_bytes, write_atomic
from gymnast.trials.folders import create_folder, find_folder, held
from gymnast.tune.state import TuneState

_KINDS, _STATE = "tunes", "tune.json"


@dataclass(frozen=True, slots=True)
class TuneFolder:
    """One tune folder."""

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
    def report_path(self) -> Path:
        return self.path / "report.md"

    @property
    def curves_path(self) -> Path:
        return self.path / "curves.png"

    def read(self) -> TuneState:
        """GymnastError if the file is missing or damaged."""
        try:
            return TuneState.from_json(parse_json(read_bytes(self.state_path, MOST_JSON)))
        except (OSError, UnsafeFile, ValueError, KeyError, TypeError, AttributeError) as error:
            raise GymnastError(f"tune {self.id}: {self.state_path} cannot be read: {error}") from error

    def write(self, state: TuneState) -> None:
        write_atomic(self.state_path, json.dumps(state.to_json(), allow_nan=False, indent=1) + "\n")

    def lock(self) -> AbstractContextManager[None]:
        """Hold the tune to drive it."""
        return held(self.path / ".lock", f"tune {self.id} is being worked on by another process")


def create_tune(root: Path) -> TuneFolder:
    """A new, empty folder with an id of its own."""
    return TuneFolder(create_folder(root, _KINDS))


def find_tune(root: Path, reference: str) -> TuneFolder:
    """The tune that `reference` names: an id, the beginning of one, or @last."""
    return TuneFolder(find_folder(root, _KINDS, _STATE, reference))
