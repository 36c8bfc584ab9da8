"""Folders that a driver of trials keeps beside the runs (runs/sweeps/k3v9x0/): created, found and locked."""

from __future__ import annotations

import os
import random
import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymnast.errors import GymnastError, did_you_mean
from gymnast.runs.files import (
    fsync_folder,
    is_link,
    is_regular,
    list_folder,
    make_folder,
    read_json,
    refuse_irregular,
    write_failed,
)

_ID = re.compile(r"[a-z][a-z0-9]{3,11}")


def create_folder(root: Path, kinds: str) -> Path:
    """A new, empty folder in `root`/`kinds`, with an id of its own."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failed(root, error) from error
    home = root.resolve() / kinds
    make_folder(home)
    draw = random.SystemRandom()
    while True:
        name = draw.choice(string.ascii_lowercase)
        name += "".join(draw.choices(string.ascii_lowercase + string.digits, k=5))
        if not os.path.lexists(home / name):
            make_folder(home / name)
            fsync_folder(home)
            return home / name


def folders_of(root: Path, kinds: str, state: str) -> list[Path]:
    """Every folder in `root`/`kinds` that holds the file `state`, the newest first."""
    home = root.resolve() / kinds
    if is_link(home):
        raise GymnastError(f"{home} is a link: {kinds} are kept in the runs folder itself")
    found = [home / name for name in list_folder(home) if _ID.fullmatch(name)]
    known = [path for path in found if not is_link(path) and is_regular(path / state)]
    return sorted(known, key=lambda path: _created(path / state), reverse=True)


def find_folder(root: Path, kinds: str, state: str, reference: str) -> Path:
    """What `reference` names: an id, the beginning of one, or @last. It never leaves `root`."""
    kind = kinds.removesuffix("s")
    known = folders_of(root, kinds, state)
    if not known:
        raise GymnastError(f"there are no {kinds} in {root}; start one with: gymnast {kind} CartPole-v1:ppo")
    if reference == "@last":
        return known[0]
    matches = [path for path in known if path.name == reference]
    matches = matches or [path for path in known if reference and path.name.startswith(reference)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(path.name for path in matches[:8])
        raise GymnastError(f"{reference!r} begins the id of {len(matches)} {kinds}: {names}")
    hint = did_you_mean(reference, [*(path.name for path in known), "@last"])
    raise GymnastError(f"no {kind} {reference!r} in {root}{hint}")


@contextmanager
def held(lock_path: Path, busy: str) -> Iterator[None]:
    """Hold a folder to drive it; a second driver gets `busy` as an error, a killed one releases it."""
    from filelock import FileLock, Timeout

    refuse_irregular(lock_path)
    lock = FileLock(lock_path)
    try:
        lock.acquire(timeout=1.5)
    except Timeout:
        raise GymnastError(busy) from None
    except OSError as error:
        raise write_failed(lock_path, error) from error
    try:
        yield
    finally:
        lock.release()


def is_held(lock_path: Path) -> bool:
    """Whether a process drives it now."""
    from filelock import FileLock, Timeout

    if not is_regular(lock_path):
        return False
    lock = FileLock(lock_path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    lock.release()
    return False


def _created(state_path: Path) -> tuple[str, str]:
    return str((read_json(state_path) or {}).get("created", "")), state_path.parent.name
