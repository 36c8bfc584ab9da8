"""Files that are either complete or absent, whatever happens while they are written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from gymnast.errors import RunFailed

_TMP = ".tmp"


def write_atomic(path: Path, data: bytes | str, durable: bool = True, sync_folder: bool = True) -> None:
    """Put `data` at `path` in one move; a reader sees the old file or the new one, never a part.

    Durable also survives a power cut: the content is flushed before the rename and the folder
    after it. `sync_folder=False` leaves the latter to a caller who writes several files in a row.
    The temporary name is fixed, so a leftover of a killed process is overwritten by the next
    write; two writers of one file must hold a lock.
    """
    content = data.encode() if isinstance(data, str) else data
    tmp = path.with_name(f".{path.name}{_TMP}")
    try:
        with tmp.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        tmp.replace(path)
        if durable and sync_folder:
            fsync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            tmp.unlink(missing_ok=True)
        raise write_failed(path, error) from error


def write_failed(path: Path, error: OSError) -> RunFailed:
    """The error to raise for a failed write, with what to do about it."""
    reasons = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file would grow past the size limit of this process",
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "no permission to write there",
        errno.EPERM: "no permission to write there",
        errno.ENOENT: "the folder is gone",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return RunFailed(f"could not write {path}: {reason}")


def fsync_folder(folder: Path) -> None:
    """Make renames and removals in `folder` survive a power cut."""
    if os.name == "nt":  # Windows cannot open a folder, and keeps its names by itself
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left in `folder`; call it with the lock held."""
    for path in folder.glob(f".*{_TMP}"):
        path.unlink(missing_ok=True)


def sha256(data: bytes) -> str:
    """Checksum as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; None if it is missing or cannot be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
