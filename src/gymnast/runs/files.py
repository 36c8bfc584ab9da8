"""Every read, write and delete inside a run folder: complete or absent, and never through a link.

A run folder may come from anybody. So nothing in one is followed (a link could point at any file of the
user's), only regular files within a size limit are read (a FIFO blocks for ever, a device never ends), and
new files are created, never opened. A parent folder that is a link is refused too; where the user named the
place, as the runs folder or `--out`, links are the user's choice: resolve the folder first (`users_place`).
To open or read a file that is missing or not permitted stays an OSError: a caller may have to tell such a
file from one with bad content.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn

from gymnast.errors import GymnastError, RunFailed

# The largest file that is read, by kind.
MOST_CONFIG = 1 << 20
MOST_JSON = 16 << 20
MOST_METRICS = 4 << 30  # read line by line
MOST_ARRAYS = 8 << 30
MOST_DEPTH = 64  # of nested lists and maps: far beyond ours, far below Python's recursion limit
MOST_DIGITS = 300  # of a whole number: still a float; states of random generators have about 40

_TMP = ".tmp"
_LINK = "a link, and links inside a run folder are not followed"
_EVERYWHERE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_DO_NOT_WAIT = getattr(os, "O_NONBLOCK", 0)  # Windows has neither this nor FIFOs in folders


class UnsafeFile(GymnastError):
    """A link, a FIFO, a device or a file beyond its size limit, where a regular file is wanted."""


def open_read(path: Path, most: int = MOST_JSON) -> BinaryIO:
    """A regular file of at most `most` bytes, for reading."""
    return _opened(path, most, _open(path, os.O_RDONLY))


def open_users_file(path: Path, most: int) -> BinaryIO:
    """As `open_read`, of a file that the user named: a link to it is followed."""
    flags = (os.O_RDONLY | _EVERYWHERE | _DO_NOT_WAIT) & ~getattr(os, "O_NOFOLLOW", 0)
    return _opened(path, most, os.open(path, flags))


def read_bytes(path: Path, most: int = MOST_JSON) -> bytes:
    """The whole content of a regular file of at most `most` bytes."""
    with open_read(path, most) as file:
        return read_all(file)


def read_all(file: BinaryIO) -> bytes:
    """What a file holds that `open_read` opened, as far as its size was checked."""
    return file.read(os.fstat(file.fileno()).st_size)


def read_text(path: Path, most: int = MOST_JSON) -> str:
    """The same as UTF-8; raises UnicodeDecodeError where it is something else."""
    return read_bytes(path, most).decode("utf-8")


def open_new(path: Path) -> BinaryIO:
    """A new, empty file for writing, in place of whatever had its name; of a link, the link itself goes."""
    refuse_link(path.parent)
    with suppress(FileNotFoundError):
        path.unlink()
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _EVERYWHERE, 0o666), "wb")


def open_append(path: Path) -> BinaryIO:
    """A regular file, made if it is missing, for writing at its end."""
    return os.fdopen(append_handle(path), "ab")


def append_handle(path: Path) -> int:
    """The same as a handle of the operating system's, without a buffer."""
    return _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def open_update(path: Path, most: int) -> BinaryIO:
    """A regular file of at most `most` bytes that is there, for reading and writing."""
    return _opened(path, most, _open(path, os.O_RDWR), "r+b")


def write_atomic(path: Path, data: bytes | str, durable: bool = True, sync_folder: bool = True) -> None:
    """Put `data` at `path` in one move; a reader sees the old file or the new one, never a part.

    Durable also survives a power cut: the content is flushed before the rename and the folder
    after it. `sync_folder=False` leaves the latter to a caller who writes several files in a row.
    The temporary name is fixed, so a leftover of a killed process is replaced by the next
    write; two writers of one file must hold a lock.
    """
    content = data.encode() if isinstance(data, str) else data
    tmp = path.with_name(f".{path.name}{_TMP}")
    try:
        with open_new(tmp) as file:
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
        errno.EISDIR: "a folder has its name",
        errno.ENAMETOOLONG: "its name is too long",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return RunFailed(f"could not write {path}: {reason}")


def make_folder(folder: Path) -> None:
    """Create a folder unless it is there; its parent must be."""
    try:
        folder.mkdir()
    except FileExistsError:
        refuse_link(folder)
        if not folder.is_dir():
            raise UnsafeFile(f"{folder} is not a folder") from None
    except OSError as error:
        raise write_failed(folder, error) from error


def list_folder(folder: Path) -> list[str]:
    """The names in a folder; none if it is missing."""
    refuse_link(folder)
    try:
        return os.listdir(folder)  # noqa: PTH208  - the names are all that is wanted, several times a second
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise UnsafeFile(f"{folder} is not a folder") from None
    except OSError as error:
        raise GymnastError(f"{folder} cannot be read: {error.strerror or error}") from error


def remove(path: Path) -> None:
    """Remove a file if it is there; of a link, the link itself."""
    refuse_link(path.parent)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RunFailed(f"{path} cannot be removed: {error.strerror or error}") from error


def remove_tree(folder: Path) -> None:
    """Remove a folder with all it holds, as far as possible. No link is followed: it is removed itself."""
    with suppress(OSError):
        if is_link(folder):
            folder.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)


def is_link(path: Path) -> bool:
    """Whether `path` itself is a link; False if it is missing or cannot be looked at."""
    return os.path.islink(path)  # noqa: PTH114  - pathlib raises for names that no file can have


def is_regular(path: Path) -> bool:
    """Whether a regular file is there, not a link to one; False if that cannot be told."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def refuse_link(path: Path) -> None:
    """Raise unless `path` is no link."""
    if is_link(path):
        _refuse(path, _LINK)


def refuse_irregular(path: Path) -> None:
    """Raise if `path` is there and is anything but a regular file, for files that others open for us."""
    if os.path.lexists(path) and not is_regular(path):
        raise UnsafeFile(f"{path} is not a regular file; remove it")


def users_place(path: Path) -> Path:
    """A place for a file that the user named; links on the way to it are the user's choice."""
    return path.parent.resolve() / path.name


def named_file(path: Path) -> Path:
    """The place of a file that the user named to be written; GymnastError if its folder is not there."""
    if not path.absolute().parent.is_dir():
        raise GymnastError(f"{path}: there is no folder {path.absolute().parent}")
    return users_place(path)


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
    for name in list_folder(folder):
        if name.startswith(".") and name.endswith(_TMP):
            with suppress(RunFailed):  # a folder: none of ours
                remove(folder / name)


def sha256(data: bytes) -> str:
    """Checksum as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def parse_json(data: bytes | str) -> Any:
    """JSON from anywhere. Raises ValueError also for what would break its readers: repeated keys, numbers of
    thousands of digits, nesting beyond any sense."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_int=_whole_number)
    except RecursionError:
        raise ValueError(f"nested more than {MOST_DEPTH} deep") from None
    level: list[Any] = [value]
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return value
    raise ValueError(f"nested more than {MOST_DEPTH} deep")


def read_json(path: Path, most: int = MOST_JSON) -> dict[str, Any] | None:
    """The JSON object in `path`; None if it is missing or cannot be read."""
    try:
        value = parse_json(read_bytes(path, most))
    except (OSError, ValueError, UnsafeFile):
        return None
    return value if isinstance(value, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:60]!r} is there twice")
    return value


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number with {len(digits)} digits")
    return int(digits)


def _opened(path: Path, most: int, handle: int, mode: Literal["rb", "r+b"] = "rb") -> BinaryIO:
    """The opened file, if it is a regular one of a bearable size."""
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            _refuse(path, _kind(found.st_mode))
        if found.st_size > most:
            raise UnsafeFile(f"{path} has {found.st_size:,} bytes, more than the {most:,} that are read")
        return os.fdopen(handle, mode)
    except BaseException:
        os.close(handle)
        raise


def _open(path: Path, flags: int) -> int:
    """Open without following a link or waiting for anybody; only a regular file."""
    refuse_link(path.parent)
    try:
        found = os.lstat(path).st_mode  # before opening: to open some devices is to act on them
    except FileNotFoundError:
        pass  # what `flags` say about it decides
    else:
        if not stat.S_ISREG(found):
            _refuse(path, _kind(found))
    handle = os.open(path, flags | _EVERYWHERE | _DO_NOT_WAIT, 0o666)
    if not stat.S_ISREG(found := os.fstat(handle).st_mode):
        os.close(handle)
        _refuse(path, _kind(found))
    return handle


def _refuse(path: Path, what: str) -> NoReturn:
    raise UnsafeFile(f"{path} is {what}")


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return _LINK
    if stat.S_ISDIR(mode):
        return "a folder instead of a file"
    return "a FIFO instead of a file" if stat.S_ISFIFO(mode) else "not a regular file"


def set_file_aside(path: Path) -> Path | None:
    """Rename a damaged file, or a folder in its place, to the first free `….damaged-1`, `….damaged-2` …; its
    new path, or None if there was nothing."""
    refuse_link(path.parent)
    names = (f"{path.name}.damaged-{number}" for number in count(1))
    aside = next(new for name in names if not os.path.lexists(new := path.with_name(name)))
    try:
        return path.rename(aside)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GymnastError(f"{path} is damaged and cannot be renamed: {error.strerror or error}") from error
