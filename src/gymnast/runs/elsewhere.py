"""Where copies of a run are that this user published or archived: kept beside the user's key, not in the run.

So a run that is no longer here can still be named with the command that brings it back.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.runs.files import is_regular, read_json, write_atomic
from gymnast.runs.ids import RUN_ID
from gymnast.runs.marks import state_folder

_SOURCE = re.compile(r"(?:hf|wandb):[\w./@:-]{1,300}", re.ASCII)
_MOST = 10_000  # runs that are remembered
_MOST_SOURCES = 4  # of one run


def remember_copy(run_id: str, source: str) -> None:
    """Note that `gymnast pull SOURCE` brings this run; nothing happens where that cannot be written."""
    with suppress(OSError, RuntimeError, GymnastError):
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = read_json(_path()) or {}
        known[run_id] = [source, *(one for one in copies_of(run_id) if one != source)][:_MOST_SOURCES]
        kept = dict(list(known.items())[-_MOST:])
        write_atomic(_path(), json.dumps(kept, indent=1) + "\n", durable=False)


def copies_of(run_id: str) -> list[str]:
    """Sources for `gymnast pull`, the newest first."""
    try:
        found = (read_json(_path()) or {}).get(run_id)
    except (OSError, RuntimeError):
        return []
    sources = found if isinstance(found, list) else []
    return [one for one in sources if isinstance(one, str) and _SOURCE.fullmatch(one)]


def how_to_get(reference: str) -> str:
    """A line that names the command which brings a run that is not here; empty where none is known."""
    if _SOURCE.fullmatch(reference):
        return f"\nto get it from there first: gymnast pull {reference}"
    if not RUN_ID.fullmatch(reference):
        return ""
    if sources := copies_of(reference):
        return f"\nit can be brought back: gymnast pull {sources[0]}"
    if is_regular(Path(f"{reference}.zip")):
        return f"\nit may be in a file here: gymnast unpack {reference}.zip"
    return ""


def _path() -> Path:
    return state_folder() / "copies.json"
