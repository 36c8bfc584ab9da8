"""A run as one file: a zip, stored and not compressed (weights and videos do not shrink), with checksums."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gymnast.archive.contents import MOST_BYTES, MOST_FILES, NEEDED, left_behind, most_bytes, travelling_files
from gymnast.archive.manifest import NAME, FileFacts, Manifest
from gymnast.errors import GymnastError
from gymnast.runs.checkpoint import DamagedCheckpoint, list_checkpoints, verify
from gymnast.runs.files import is_regular, open_new, open_read, remove, users_place, write_failed
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import RunFolder
from gymnast.runs.trainer import is_training

_DATE = (1980, 1, 1, 0, 0, 0)  # the same run makes the same members
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A file with a run in it."""

    path: Path
    manifest: Manifest
    left_out: tuple[str, ...]  # what the run's folder has beside it


def pack_run(run: RunFolder, path: Path, *, force: bool = False) -> Packed:
    """Pack a run into `path`; complete as soon as it is visible."""
    if os.path.lexists(path) and not force:
        raise GymnastError(f"{path} exists already; give --force to replace it, or another name")
    if path.is_dir():
        raise GymnastError(f"{path} is a folder; name a file, such as {path / f'{run.id}.zip'}")
    with held_still(run):
        names = checked_files(run)
        place = users_place(path)
        tmp = place.with_name(f".{place.name}.tmp")
        try:
            with open_new(tmp) as file:
                manifest = _write(run, names, file)
                file.flush()
                os.fsync(file.fileno())
            tmp.replace(place)
        except OSError as error:
            raise GymnastError(str(write_failed(path, error))) from error
        finally:
            with suppress(GymnastError):
                remove(tmp)
        return Packed(path, manifest, tuple(left_behind(run)))


@contextmanager
def held_still(run: RunFolder) -> Iterator[None]:
    """Keep others from training the run meanwhile; one that is being trained is refused."""
    run.refuse_link()
    if not RUN_ID.fullmatch(run.id):
        known = run.info().get("id")
        name = known if isinstance(known, str) and RUN_ID.fullmatch(known) else "an id, such as k3v9x0ab"
        raise GymnastError(f"{run.path} was renamed, and a run travels by its id; rename it to {name}")
    if is_training(run):
        raise GymnastError(
            f"run {run.id} is still training, and its files change; wait for its end, or stop it with"
            f" `gymnast runs stop {run.id}` (it can be resumed later)"
        )
    with run.lock(to_train=False) if os.access(run.path, os.W_OK) else nullcontext():
        yield


def checked_files(run: RunFolder) -> list[str]:
    """The files that travel. Raises GymnastError for a run that is damaged or only half copied."""
    for name in NEEDED:
        if not is_regular(run.path / name):
            raise GymnastError(
                f"run {run.id} has no {name}: it is damaged, or was not copied as a whole; copy it again"
            )
    run.config_text()
    if not run.info():
        raise GymnastError(f"the run.json of run {run.id} is damaged; copy the run again")
    damaged = []
    for checkpoint in list_checkpoints(run):
        try:
            verify(checkpoint)
            checkpoint.config_path()
        except DamagedCheckpoint as error:
            damaged.append(str(error))
    if damaged:
        raise GymnastError(
            f"{damaged[0]}{f' (and {len(damaged) - 1} more)' if len(damaged) > 1 else ''}; copy the run"
            " again, or remove the files of that checkpoint"
        )
    names = travelling_files(run)
    if len(names) > MOST_FILES:
        raise GymnastError(f"run {run.id} has {len(names):,} files; at most {MOST_FILES:,} can be packed")
    for name in names:
        size, most = (run.path / name).lstat().st_size, most_bytes(name) or 0
        if size > most:
            raise GymnastError(f"{run.path / name} has {size:,} bytes; at most {most:,} can be packed")
    if (total := sum((run.path / name).lstat().st_size for name in names)) > MOST_BYTES:
        raise GymnastError(f"run {run.id} has {total:,} bytes; at most {MOST_BYTES:,} can be packed")
    return names


def file_facts(path: Path, most: int, out: IO[bytes] | None = None) -> FileFacts:
    """Size and checksum of a file, copied to `out` on the way; never through a link."""
    digest, size = hashlib.sha256(), 0
    with open_read(path, most) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
            if out is not None:
                out.write(block)
    return FileFacts(digest.hexdigest(), size)


def _write(run: RunFolder, names: list[str], file: IO[bytes]) -> Manifest:
    files: dict[str, FileFacts] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in names:
            path, most = run.path / name, most_bytes(name) or 0
            info = _member(name)
            info.file_size = path.lstat().st_size  # whether it needs the form for files beyond 4 GB
            with archive.open(info, "w") as member:
                files[name] = file_facts(path, most, member)
        manifest = Manifest(run.id, files)
        archive.writestr(_member(NAME), manifest.to_bytes())
    return manifest


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = (0o100644) << 16
    info.create_system = 3
    return info
