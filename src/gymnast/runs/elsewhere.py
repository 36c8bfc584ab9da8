"""Where copies of a run are that this user published or archived: kept beside the user's key, not in the run.

So a run that is no longer here can still be named, and pulled from there. `hf:…` and `wandb:…` name the run
that was pulled from there, too.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from gymnast.errors import GymnastError, RunElsewhere
from gymnast.runs.files import is_regular, read_json, write_atomic
from gymnast.runs.ids import RUN_ID
from gymnast.runs.marks import state_folder
from gymnast.runs.store import RunFolder, run_folders

_KINDS = {"hf:": "hf:OWNER/NAME", "wandb:": "wandb:ENTITY/PROJECT/RUN"}
_FORM = re.compile(r"(hf:[^/]+/[^/]+|wandb:(?:[^/]+/){2}[^/]+)(?:/(.*))?", re.DOTALL)
_SOURCE = re.compile(r"(?:hf|wandb):[\w./@:-]{1,300}", re.ASCII)
_MOST = 10_000  # runs that are remembered
_MOST_SOURCES = 4  # of one run
_SHORTEST = 3  # letters of an id that name a run which is not here


def is_elsewhere(reference: str) -> bool:
    """Whether a reference names a run by the place that it is pulled from."""
    return reference.startswith(tuple(_KINDS))


def split_elsewhere(reference: str) -> tuple[str, str | None]:
    """`hf:OWNER/NAME/CHECKPOINT` → (the source, the checkpoint); None where none is named."""
    match = _FORM.fullmatch(reference)
    return (match[1], match[2] or None) if match else (reference, None)


def pulled_from(root: Path, source: str) -> RunFolder | None:
    """The run here that came from a source; of several the one that came last."""
    found: list[tuple[str, RunFolder]] = []
    for run in run_folders(root):
        origin = read_json(run.origin_path) or {}
        if source == origin.get("asked", origin.get("source")):
            found.append((str(origin.get("pulled", "")), run))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def not_here(reference: str, root: Path, problem: str) -> GymnastError:
    """The error for a run that is not here; it says how to get it, where that is known."""
    if is_elsewhere(reference):
        kind = next(start for start in _KINDS if reference.startswith(start))
        if _FORM.fullmatch(reference) is None or _SOURCE.fullmatch(reference) is None:
            return GymnastError(f"{reference!r} is not a run: write {_KINDS[kind]}")
        hint = f"to get it from there first: gymnast pull {reference}"
        return RunElsewhere(f"{problem}\n{hint}", reference, root, is_certain=True)
    known = _known()
    ids = [reference] if reference in known else [run for run in known if run.startswith(reference)]
    if len(reference) >= _SHORTEST and len(ids) == 1 and (sources := copies_of(ids[0])):
        what = "it" if ids[0] == reference else f"run {ids[0]}"
        hint = f"{what} can be brought back: gymnast pull {sources[0]}"
        return RunElsewhere(f"{problem}\n{hint}", sources[0], root, is_certain=ids[0] == reference)
    if RUN_ID.fullmatch(reference) and is_regular(Path(f"{reference}.zip")):
        return GymnastError(f"{problem}\nit may be in a file here: gymnast unpack {reference}.zip")
    return GymnastError(problem)


def remember_copy(run_id: str, source: str) -> None:
    """Note that `gymnast pull SOURCE` brings this run; nothing happens where that cannot be written."""
    with suppress(OSError, RuntimeError, GymnastError):
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = _known()
        known[run_id] = [source, *(one for one in copies_of(run_id) if one != source)][:_MOST_SOURCES]
        kept = dict(list(known.items())[-_MOST:])
        write_atomic(_path(), json.dumps(kept, indent=1) + "\n", durable=False)


def copies_of(run_id: str) -> list[str]:
    """Sources for `gymnast pull`, the newest first."""
    found = _known().get(run_id)
    sources = found if isinstance(found, list) else []
    return [one for one in sources if isinstance(one, str) and _SOURCE.fullmatch(one)]


def _known() -> dict[str, object]:
    """Run → the sources of its copies."""
    try:
        return dict(read_json(_path()) or {})
    except (OSError, RuntimeError):
        return {}


def _path() -> Path:
    return state_folder() / "copies.json"
