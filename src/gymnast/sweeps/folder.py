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
    fsync_folder,
    is_link,
    is_regular,
    list_folder,
    make_folder,
    parse_json,
    read_bytes,
    refuse_irregular,
    remove,
    write_atomic,
    write_failed,
)
from gymnast.sweeps.state import SweepState

SWEEP_ID = re.compile(r"[a-z][a-z0-9]{3,11}")
_FOLDER = "sweeps"


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
        return self.path / "sweep.json"

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
        """Hold the sweep to work on it; a second driver gets an error, a killed one releases it by itself."""
        from filelock import FileLock, Timeout

        refuse_irregular(self.lock_path)
        lock = FileLock(self.lock_path)
        try:
            lock.acquire(timeout=1.0)
        except Timeout:
            raise GymnastError(
                f"sweep {self.id} is being worked on by another process; stop it with: "
                f"gymnast sweep stop {self.id}"
            ) from None
        except OSError as error:
            raise write_failed(self.lock_path, error) from error
        try:
            remove(self.stop_path)  # it was meant for the driver before
            yield
        finally:
            lock.release()

    def is_driven(self) -> bool:
        """Whether a process works on it now."""
        from filelock import FileLock, Timeout

        if not is_regular(self.lock_path):
            return False
        lock = FileLock(self.lock_path)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return True
        lock.release()
        return False

    def ask_to_stop(self) -> None:
        write_atomic(self.stop_path, "{}\n", durable=False)

    def stop_asked(self) -> bool:
        return is_regular(self.stop_path)


def create_sweep(root: Path) -> SweepFolder:
    """A new, empty folder with an id of its own."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failed(root, error) from error
    home = root.resolve() / _FOLDER
    make_folder(home)
    draw = random.SystemRandom()
    while True:
        name = draw.choice(string.ascii_lowercase)
        name += "".join(draw.choices(string.ascii_lowercase + string.digits, k=5))
        if not os.path.lexists(home / name):
            make_folder(home / name)
            fsync_folder(home)
            return SweepFolder(home / name)


def sweep_folders(root: Path) -> list[SweepFolder]:
    """Every sweep of a runs folder, the newest first."""
    home = root.resolve() / _FOLDER
    if is_link(home):
        raise GymnastError(f"{home} is a link: sweeps are kept in the runs folder itself")
    found = [SweepFolder(home / name) for name in list_folder(home) if SWEEP_ID.fullmatch(name)]
    known = [folder for folder in found if not is_link(folder.path) and is_regular(folder.state_path)]
    return sorted(known, key=_created, reverse=True)


def find_sweep(root: Path, reference: str) -> SweepFolder:
    """The sweep that `reference` names: an id, the beginning of one, or @last. It never leaves `root`."""
    known = sweep_folders(root)
    if not known:
        raise GymnastError(f"there are no sweeps in {root}; start one with: gymnast sweep CartPole-v1:ppo")
    if reference == "@last":
        return known[0]
    matches = [folder for folder in known if folder.id == reference]
    matches = matches or [folder for folder in known if reference and folder.id.startswith(reference)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(folder.id for folder in matches[:8])
        raise GymnastError(f"{reference!r} begins the id of {len(matches)} sweeps: {names}")
    hint = did_you_mean(reference, [*(folder.id for folder in known), "@last"])
    raise GymnastError(f"no sweep {reference!r} in {root}{hint}")


def _created(folder: SweepFolder) -> tuple[str, str]:
    from gymnast.runs.files import read_json

    return str((read_json(folder.state_path) or {}).get("created", "")), folder.id
