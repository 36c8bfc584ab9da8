"""Putting a run from elsewhere among the others: checked in a folder of its own, then moved in one step."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from gymnast.archive.manifest import BadArchive, Manifest
from gymnast.archive.pack import file_facts
from gymnast.errors import GymnastError, RunFailed
from gymnast.runs import registry
from gymnast.runs.adopt import adopt_run, draft_folder
from gymnast.runs.checkpoint import DamagedCheckpoint, best_checkpoint, list_checkpoints, verify
from gymnast.runs.files import (
    fsync_folder,
    make_folder,
    open_new,
    parse_json,
    read_bytes,
    remove_tree,
    write_atomic,
    write_failed,
)
from gymnast.runs.ids import free_id
from gymnast.runs.store import RunFolder, now, open_run
from gymnast.video.record import link_best, video_path

Opened = Callable[[str], BinaryIO]  # the content of a file of the manifest


def install_run(
    root: Path, manifest: Manifest, opened: Opened, where: str, *, origin: Mapping[str, Any],
    force: bool = False, new_id: bool = False,
) -> RunFolder:  # fmt: skip
    """Copy a run into the runs folder. It is visible only once every byte of it is as the manifest says.

    A run of the same id stays untouched: refused, unless `force` replaces it, or `new_id` gives this one
    another id. Whoever made it, it has no mark: it counts as from elsewhere (docs/security.md).
    """
    run_id = manifest.run
    check_id(root, run_id, force=force, new_id=new_id)
    _check_room(root, manifest.total)
    with hidden_folder(root) as draft:
        _copy(draft, manifest, opened, where)
        _check(draft, where)
        if new_id:
            run_id = free_id(root)
            draft.trackers_path.unlink(missing_ok=True)  # two runs must not write to one at a tracker
        record = {**origin, "run": manifest.run, "pulled": now()}
        write_atomic(draft.origin_path, json.dumps(record, indent=2) + "\n", sync_folder=False)
        _link_best_video(draft)
        fsync_folder(draft.path)
        run = adopt_run(draft, root, run_id, replace=force)
    if force:  # the index knows the one before
        with suppress(GymnastError):
            registry.rebuild(root)
    return run


def check_id(root: Path, run_id: str, *, force: bool, new_id: bool) -> None:
    """Raise if a run that is here has the id, and the user did not say what to do about it."""
    if force and new_id:
        raise GymnastError("give one of --force and --new-id")
    if not new_id and not force and _is_here(root, run_id):
        raise GymnastError(
            f"run {run_id} is already in {root}; give --new-id to keep both, or --force to replace it"
        )


def _is_here(root: Path, run_id: str) -> bool:
    try:
        open_run(root, run_id)
    except GymnastError:
        return False
    return True


def _check_room(root: Path, wanted: int) -> None:
    there = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    if (free := shutil.disk_usage(there).free) < wanted:
        raise GymnastError(f"the run needs {wanted:,} bytes, and {there} has {free:,} left")


@contextmanager
def hidden_folder(root: Path) -> Iterator[RunFolder]:
    """A hidden folder beside the runs; gone at the end unless it was adopted."""
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
        draft = draft_folder(root, secrets.token_hex(8))
    except OSError as error:
        raise GymnastError(str(write_failed(root, error))) from error
    try:
        yield draft
    except RunFailed as error:  # of a write; here it is bad input, not a training that broke
        raise GymnastError(str(error)) from error
    except OSError as error:
        raise GymnastError(str(write_failed(root, error))) from error
    finally:
        remove_tree(draft.path)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()  # succeeds only while empty


def _copy(draft: RunFolder, manifest: Manifest, opened: Opened, where: str) -> None:
    for name, facts in manifest.files.items():
        path = draft.path / name  # a name that `contents` knows, nothing else
        for folder in reversed(path.relative_to(draft.path).parents[:-1]):
            make_folder(draft.path / folder)
        with opened(name) as source, open_new(path) as target:
            left = facts.bytes
            while block := source.read(min(1 << 20, left + 1)):
                left -= len(block)
                if left < 0:
                    raise BadArchive(f"{where}: {name} is longer than its {facts.bytes:,} bytes")
                target.write(block)
        if file_facts(path, facts.bytes) != facts:
            raise BadArchive(f"{where}: {name} is damaged: it does not match its checksum; get it again")
    make_folder(draft.checkpoints)


def _check(draft: RunFolder, where: str) -> None:
    """Beyond checksums, which anybody can make: is it a run at all?"""
    try:
        info = parse_json(read_bytes(draft.info_path))
    except ValueError as error:
        raise BadArchive(f"{where}: its run.json cannot be read: {error}") from error
    if not isinstance(info, dict):
        raise BadArchive(f"{where}: its run.json is not that of a run")
    try:
        draft.config_text()
        for checkpoint in list_checkpoints(draft):
            verify(checkpoint)
            checkpoint.config_path()
    except DamagedCheckpoint as error:
        why = str(error).partition(" is damaged: ")[2]
        raise BadArchive(f"{where}: a checkpoint is damaged: {why}") from error
    except GymnastError as error:
        raise BadArchive(f"{where}: its config cannot be read") from error


def _link_best_video(draft: RunFolder) -> None:
    """`best.mp4`, which is a link and does not travel."""
    with suppress(GymnastError):
        best = best_checkpoint(draft)
        if best is not None and (video := video_path(draft, best.env_steps)).is_file():
            link_best(draft, video)
