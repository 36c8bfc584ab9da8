"""How a remote run is doing, as the machine that trains it writes it down beside the runs there.

.remote/
  ID.json        one of these for each run
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gymnast.runs.files import make_folder, read_json, write_atomic

FOLDER = ".remote"  # no run id begins with a dot
SILENT_SECONDS = 180.0  # without a word, a machine that was at work is gone

# running; done; failed; stopped on request; over one of its limits; at the end of a leg that was ordered;
# crashed, and left to whoever ordered it; taken away, and to be given back; out of time, and continued by a
# new call
STATES = ("running", "done", "failed", "stopped", "limit", "paused", "crashed", "interrupted", "again")
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("run", "state", "call", "passed_on_by", "reason"), (str,)),
    **dict.fromkeys(("attempts", "env_steps"), (int,)),
    **dict.fromkeys(("seconds", "updated"), (int, float)),
    **dict.fromkeys(("fps", "score"), (int, float, type(None))),
}


@dataclass(frozen=True, slots=True)
class RemoteState:
    """What is known of a run where it is trained."""

    run: str
    state: str = "running"
    call: str = ""  # that trains it now
    passed_on_by: str = ""  # the call before it, if that was out of time
    reason: str = ""
    attempts: int = 0
    seconds: float = 0.0  # that were paid for, of all attempts
    env_steps: int = 0
    fps: float | None = None
    score: float | None = None
    updated: float = 0.0  # seconds since 1970

    def is_alive(self) -> bool:
        """Whether a machine was at work on it a moment ago."""
        return self.state == "running" and time.time() - self.updated < SILENT_SECONDS

    def is_over(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.state not in ("running", "interrupted", "again")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def state_name(run_id: str) -> str:
    """The file of a run's state, below the folder with the runs."""
    return f"{FOLDER}/{run_id}.json"


def write_state(root: Path, state: RemoteState) -> None:
    make_folder(root / FOLDER)
    text = json.dumps({**asdict(state), "updated": time.time()}, indent=1) + "\n"
    write_atomic(root / state_name(state.run), text, durable=False)


def read_state(root: Path, run_id: str) -> RemoteState:
    """The state that was written; that of a run which has not begun where there is none."""
    return state_from(run_id, read_json(root / state_name(run_id)))


def state_from(run_id: str, values: Any) -> RemoteState:
    """The same from what a file holds, whoever wrote it: what makes no sense is left out."""
    if not isinstance(values, dict):
        return RemoteState(run_id)
    sound = {
        field.name: values[field.name]
        for field in fields(RemoteState)
        if isinstance(values.get(field.name), _TYPES[field.name]) and not isinstance(values[field.name], bool)
    }
    if sound.get("state", "running") not in STATES:
        del sound["state"]
    return RemoteState(**{**sound, "run": run_id})
