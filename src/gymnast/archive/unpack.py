"""A packed run back among the others."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from gymnast.archive.contents import MOST_BYTES
from gymnast.archive.install import install_run
from gymnast.archive.manifest import MOST_MANIFEST, NAME, BadArchive, Manifest, read_manifest
from gymnast.archive.zip_check import open_zip
from gymnast.errors import GymnastError
from gymnast.runs.files import UnsafeFile, open_users_file
from gymnast.runs.store import RunFolder

# What zipfile raises for a member that makes no sense.
DAMAGED = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)
MOST_ZIP = MOST_BYTES + (1 << 30)


def unpack_run(
    path: Path, root: Path, *, force: bool = False, new_id: bool = False,
    origin: Mapping[str, Any] | None = None, expected: str | None = None,
) -> RunFolder:  # fmt: skip
    """Unpack a run into the runs folder, whole or not at all; `expected` is the id that it must have."""
    where = path.name
    try:
        file = open_users_file(path, MOST_ZIP)
    except FileNotFoundError:
        raise GymnastError(f"no file {path}") from None
    except UnsafeFile as error:
        raise GymnastError(f"{error}; name a file that gymnast pack made") from error
    except OSError as error:
        raise GymnastError(f"{path} cannot be read: {error.strerror or error}") from error
    with file, open_zip(file, where) as archive:
        manifest = _manifest(archive, where)
        if expected is not None and manifest.run != expected:
            raise BadArchive(f"{where} holds run {manifest.run} instead of {expected}; nothing was kept")
        source = {"source": f"file:{where}"} if origin is None else origin

        def opened(name: str) -> BinaryIO:
            try:
                return cast(BinaryIO, archive.open(name))
            except (*DAMAGED, OSError) as error:
                raise BadArchive(f"{where} is damaged at {name}: {error}; get it again") from error

        try:
            return install_run(root, manifest, opened, where, origin=source, force=force, new_id=new_id)
        except DAMAGED as error:
            raise BadArchive(f"{where} is damaged: {error}; get it again") from error


def _manifest(archive: zipfile.ZipFile, where: str) -> Manifest:
    try:
        with archive.open(NAME) as member:
            manifest = read_manifest(member.read(MOST_MANIFEST), where)
    except (*DAMAGED, OSError) as error:
        raise BadArchive(f"{where} is damaged: {error}; get it again") from error
    members = {info.filename: info.file_size for info in archive.infolist() if info.filename != NAME}
    listed = {name: facts.bytes for name, facts in manifest.files.items()}
    if members != listed:
        odd = sorted(members.keys() ^ listed.keys()) or sorted(
            name for name in members if members[name] != listed[name]
        )
        raise BadArchive(f"{where}: its list of files does not fit what it holds ({odd[0]})")
    return manifest
