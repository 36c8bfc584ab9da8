"""Marks of runs that were made here: checksums with a key that only this user has.

The key lies in the user's state folder (GYMNAST_STATE_DIR, else `gymnast` in XDG_STATE_HOME or
~/.local/state). It is made when it is first needed. Without it no run is known to be one's own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError
from gymnast.runs.files import read_json, write_atomic
from gymnast.runs.store import RunFolder

_KEY_BYTES = 32
_NO_FOLLOW = 0 if os.name == "nt" else os.O_NOFOLLOW


def add_mark(run: RunFolder, facts: Any) -> None:
    """Mark a run with these facts beside those before; OSError or GymnastError if that cannot be done."""
    key = _read_key() or _make_key()
    marks = dict.fromkeys([*_marks(run), _mark(key, run, facts)])
    write_atomic(run.mark_path, json.dumps({"marks": list(marks)}, indent=1) + "\n", durable=False)


def is_marked(run: RunFolder, facts: Any) -> bool:
    """Whether this user marked this run with these facts."""
    known = list(_marks(run))
    try:
        key = _read_key() if known else None
    except (OSError, RuntimeError, GymnastError):
        return False
    return key is not None and any(hmac.compare_digest(_mark(key, run, facts), mark) for mark in known)


def state_folder() -> Path:
    """Where the user's key lies."""
    if own := os.environ.get("GYMNAST_STATE_DIR"):
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "gymnast"


def _mark(key: bytes, run: RunFolder, facts: Any) -> str:
    text = json.dumps([run.id, facts], sort_keys=True, default=str)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _marks(run: RunFolder) -> Iterable[str]:
    marks = (read_json(run.mark_path) or {}).get("marks")
    return (
        [mark for mark in marks if isinstance(mark, str) and mark.isascii()]
        if isinstance(marks, list)
        else []
    )


def _read_key() -> bytes | None:
    """The key; None if there is none yet."""
    path = state_folder() / "key"
    try:
        file = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(opened.fileno())
        ours = os.name == "nt" or (about.st_uid == os.geteuid() and not about.st_mode & 0o077)
        if not stat.S_ISREG(about.st_mode) or not ours:
            raise GymnastError(f"{path} must be a file that only you can read: chmod 600 {path}")
        text = opened.read(4 * _KEY_BYTES)
    with suppress(ValueError):
        key = bytes.fromhex(text.decode(errors="replace"))
        if len(key) == _KEY_BYTES:
            return key
    raise GymnastError(f"{path} is damaged; remove it, and a new key is made")


def _make_key() -> bytes:
    """A new key, or that of another process which makes one at the same moment."""
    folder = state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path, draft = folder / "key", folder / f".key-{secrets.token_hex(8)}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
    try:
        with os.fdopen(file, "w") as opened:
            opened.write(secrets.token_hex(_KEY_BYTES))
            opened.flush()
            os.fsync(opened.fileno())
        with suppress(FileExistsError):  # complete as soon as it is there, and never replaced
            os.link(draft, path)
    finally:
        draft.unlink()
    key = _read_key()
    if key is None:
        raise GymnastError(f"{path} could not be made")
    return key
