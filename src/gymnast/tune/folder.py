"""The folders of tunes, beside the runs: the only code that knows the paths in one.

runs/tunes/
  k3v9x0/
    tune.json       the plan, the rounds and what they cost (state.py)
    report.md       what came of it, with its picture curves.png
    .lock           held by the driver
"""

from __future__ import annotations

import json
import os
import random
import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gymnast.errors import GymnastError, did_you_mean
from gymnast.runs.files import (
    MOST_JSON,
    UnsafeFile,
    is_link,
    list_folder,
    make_folder,
    parse_json,
    read_bytes,
    refuse_irregular,
    write_atomic,
    write_failed,
)
from gymnast.tune.state import TuneState

TUNE_ID = re.compile(r"[a-z][a-z0-9]{3,11}")


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
        return self.path / "tune.json"

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

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the tune for driving it; a second driver gets an error, a killed one releases it."""
        from filelock import FileLock, Timeout

        path = self.path / ".lock"
        refuse_irregular(path)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=1.5)
        except Timeout:
            raise GymnastError(f"tune {self.id} is being worked on by another process") from None
        except OSError as error:
            raise write_failed(path, error) from error
        try:
            yield
        finally:
            lock.release()


def create_tune(root: Path) -> TuneFolder:
    """A new folder with an id of its own."""
    try:
        (root / "tunes").mkdir(parents=True, exist_ok=True)
        draw = random.SystemRandom()
        while True:
            letters = string.ascii_lowercase
            tune_id = draw.choice(letters) + "".join(draw.choices(letters + string.digits, k=5))
            folder = TuneFolder(root / "tunes" / tune_id)
            if not os.path.lexists(folder.path):
                make_folder(folder.path)
                return folder
    except OSError as error:
        raise GymnastError(f"no tune can be created in {root}: {error.strerror or error}") from error


def find_tune(root: Path, reference: str) -> TuneFolder:
    """The tune of this id, the beginning of one, or `@last`."""
    names = [name for name in list_folder(root / "tunes") if TUNE_ID.fullmatch(name)]
    folders = [TuneFolder(root / "tunes" / name) for name in names if not is_link(root / "tunes" / name)]
    known = sorted((folder for folder in folders if folder.state_path.is_file()), key=_age, reverse=True)
    if reference == "@last" and known:
        return known[0]
    matches = [folder for folder in known if reference and folder.id.startswith(reference)]
    exact = [folder for folder in matches if folder.id == reference]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if not known:
        raise GymnastError(f"there are no tunes in {root}; start one with: gymnast tune CartPole-v1:ppo")
    hint = did_you_mean(reference, [*(folder.id for folder in known), "@last"])
    raise GymnastError(f"no tune {reference!r} in {root}{hint}")


def _age(folder: TuneFolder) -> float:
    return folder.state_path.stat().st_mtime
