"""A run folder kept in two places: on the disk of a machine that trains, and where it outlives the machine.

Training locks, appends and renames; a folder in a network may do none of that well. So a run is trained on
the machine's own disk, and what changed is copied after each checkpoint. What lies at the other end can be
resumed at any moment: the JSON that makes a checkpoint comes after its arrays.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gymnast.archive.contents import most_bytes, travelling_files
from gymnast.runs.files import make_folder, open_new, open_read
from gymnast.runs.store import RunFolder, is_run

_SIDECAR = re.compile(r"checkpoints/\d+\.json")
_PART = ".part"
_UNKNOWN = (-1, -1)


class Mirror:
    """Copies a run one way, each time only what changed."""

    def __init__(self, source: RunFolder, target: Path) -> None:
        self._source, self._target = source, target
        # Name → size and time of what was copied. What an earlier machine left is known by name: if the
        # source prunes it, it has to go there too, all files of a checkpoint together.
        there = travelling_files(RunFolder(target)) if is_run(RunFolder(target)) else []
        self._copied: dict[str, tuple[int, int]] = dict.fromkeys(there, _UNKNOWN)

    def update(self) -> None:
        """Make the target as the source is now; files that go away meanwhile are left for the next time."""
        if not is_run(self._source):
            return
        whole = {name for name in travelling_files(self._source) if _SIDECAR.fullmatch(name)}
        # Listed again: what is saved while a folder is listed may show its JSON without its arrays.
        names = [
            name for name in travelling_files(self._source) if name in whole or not _SIDECAR.fullmatch(name)
        ]
        for name in sorted(names, key=lambda name: (bool(_SIDECAR.fullmatch(name)), name == "run.json")):
            with suppress(FileNotFoundError):  # pruned meanwhile
                self._copy(name)
        self._forget(set(self._copied) - set(names))

    def _copy(self, name: str) -> None:
        path, target = self._source.path / name, self._target / name
        facts = path.stat()
        if self._copied.get(name) == (facts.st_size, facts.st_mtime_ns):
            return
        make_folder(target.parent)
        part = target.with_name(f".{target.name}{_PART}")
        with open_read(path, most_bytes(name) or 0) as source, open_new(part) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
        part.replace(target)
        self._copied[name] = (facts.st_size, facts.st_mtime_ns)

    def _forget(self, names: Iterable[str]) -> None:
        """Remove what the source does not have any more; a checkpoint's JSON goes first."""
        for name in sorted(names, key=lambda name: not _SIDECAR.fullmatch(name)):
            with suppress(FileNotFoundError):
                (self._target / name).unlink()
            del self._copied[name]


def fetch(source: RunFolder, target: Path) -> None:
    """Bring back the run that an earlier machine left, if there is one."""
    if is_run(source) and not is_run(RunFolder(target)):
        Mirror(source, target).update()
