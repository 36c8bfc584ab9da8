"""A zip file from anywhere, checked as a whole before anything of it is read.

Ours are simple: stored members, no comment, no encryption. So what is stored has the size it says, the sum of
all sizes cannot exceed that of the file, and no bomb fits in. What is not as ours is refused.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from typing import BinaryIO

from gymnast.archive.contents import MOST_FILES, most_bytes
from gymnast.archive.manifest import MOST_MANIFEST, NAME, BadArchive
from gymnast.errors import cut

_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_MOST_DIRECTORY = MOST_FILES * 512  # bytes: names of ours have less than 200
_ENCRYPTED = 0x1


def open_zip(file: BinaryIO, where: str) -> zipfile.ZipFile:
    """The zip in `file`. Raises BadArchive for one that is cut short, or has a member that is not a plain,
    stored file of a run."""
    _check_directory(file, where)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        raise BadArchive(f"{where} is damaged: {error}") from error
    _check_members(archive.infolist(), _size(file), where)
    return archive


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _check_directory(file: BinaryIO, where: str) -> None:
    """Raise if it is not a zip of ours, or its directory is so large that reading it is the attack."""
    size = _size(file)
    if size < _END.size:
        raise BadArchive(f"{where} is not a packed run, or only its beginning is here")
    file.seek(size - _END.size)
    mark, *_, count, length, _, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\x05\x06" or comment:
        raise BadArchive(
            f"{where} is not a packed run, or it was cut short; copy or download it again"
            " (gymnast pack makes such files)"
        )
    counts, lengths = [count], [length]
    if size >= _END.size + _LOCATOR.size:
        file.seek(size - _END.size - _LOCATOR.size)
        mark, _, at, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
        if mark == b"PK\x06\x07":  # of files beyond 4 GB
            if at > size - _END64.size:
                raise BadArchive(f"{where} is damaged: its end points outside of it")
            file.seek(at)
            _, _, _, _, _, _, _, count64, length64, _ = _END64.unpack(file.read(_END64.size))
            counts.append(count64)
            lengths.append(length64)
    file.seek(0, io.SEEK_SET)
    if max(counts) > MOST_FILES + 1 or max(lengths) > _MOST_DIRECTORY:
        raise BadArchive(
            f"{where} says that it has {max(counts):,} members; a run has at most {MOST_FILES:,}"
        )


def _check_members(members: list[zipfile.ZipInfo], size: int, where: str) -> None:
    if len(members) > MOST_FILES + 1:
        raise BadArchive(f"{where} has {len(members):,} members; a run has at most {MOST_FILES:,}")
    seen: set[str] = set()
    for member in members:
        if (problem := _problem(member)) is not None:
            raise BadArchive(f"{where}: {cut(repr(member.orig_filename))} {problem}")
        if member.filename in seen:
            raise BadArchive(f"{where} has {member.filename} twice")
        seen.add(member.filename)
    if sum(member.file_size for member in members) > size:
        raise BadArchive(f"{where}: its members overlap: they are larger than the file itself")
    if NAME not in seen:
        raise BadArchive(f"{where} is a zip, but not a packed run: it has no {NAME}")


def _problem(member: zipfile.ZipInfo) -> str | None:
    """What is wrong with a member, in words; None if nothing is."""
    name = member.orig_filename
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or name[1:2] == ":":
        return "has an absolute name"
    if ".." in parts:
        return "leads out of the run's folder"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a link"
    if kind not in (0, stat.S_IFREG) or name.endswith("/") or member.external_attr & 0x10:
        return "is not a plain file"
    most = MOST_MANIFEST if name == NAME else most_bytes(name)
    if most is None or member.filename != name:
        return "is a file that no run has"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        return "is compressed, which packed runs are not"
    if member.file_size > most:
        return f"has {member.file_size:,} bytes, more than the {most:,} that it may"
    return None
