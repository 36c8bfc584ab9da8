"""Bringing a run from the volume: checked like any run from elsewhere, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from gymnast.archive.contents import MOST_BYTES, MOST_FILES, most_bytes
from gymnast.archive.install import install_run
from gymnast.archive.manifest import BadArchive, Manifest
from gymnast.archive.pack import file_facts
from gymnast.errors import GymnastError
from gymnast.remote import modal_client
from gymnast.runs import registry
from gymnast.runs.files import make_folder, open_new, open_read, read_json
from gymnast.runs.store import RunFolder, is_run

_TRIES = 4  # a run that trains on may prune a checkpoint while it is read


def pull_run(run_id: str, root: Path, volume_name: str, *, force: bool = False) -> RunFolder:
    """Put the run among the others; one that was pulled before and not trained here since is replaced."""
    source = f"modal:{volume_name}/{run_id}"
    for left in reversed(range(_TRIES)):
        with TemporaryDirectory(prefix="gymnast-pull-") as folder:
            try:
                manifest = _download(run_id, Path(folder))
                replace = force or _is_older_copy(root, run_id, source, Path(folder))
                return install_run(
                    root, manifest, _opener(Path(folder)), source, origin={"source": source}, force=replace
                )
            except (FileNotFoundError, BadArchive) as error:
                if not left:
                    raise GymnastError(f"run {run_id} could not be pulled from Modal: {error}") from error
    raise AssertionError("unreachable")


def _download(run_id: str, folder: Path) -> Manifest:
    """All files of a run that travel, and what they are."""
    facts = {}
    for name, size in _listed(run_id).items():
        path = folder / name
        if path.parent != folder:
            make_folder(path.parent)
        with open_new(path) as file, modal_client.faults_as_ours():
            for block in modal_client.volume().read_file(f"{run_id}/{name}"):
                file.write(block)
                if file.tell() > (most_bytes(name) or 0):
                    raise BadArchive(f"{name} has more than the {size:,} bytes that it may")
        facts[name] = file_facts(path, most_bytes(name) or 0)
    return Manifest(run_id, facts)


def _listed(run_id: str) -> dict[str, int]:
    try:
        with modal_client.faults_as_ours():
            entries: list[Any] = modal_client.volume().listdir(f"/{run_id}", recursive=True)
    except (FileNotFoundError, GymnastError) as error:
        raise GymnastError(
            f"run {run_id} has nothing on Modal yet: it is there from its first checkpoint on"
        ) from error
    names = {entry.path.strip("/").removeprefix(f"{run_id}/"): entry.size for entry in entries}
    found = {name: size for name, size in names.items() if most_bytes(name) is not None}
    if "run.json" not in found or "config.yaml" not in found:
        raise GymnastError(f"run {run_id} has nothing on Modal yet: it is there from its first checkpoint on")
    if len(found) > MOST_FILES or sum(found.values()) > MOST_BYTES:
        raise GymnastError(f"run {run_id} on Modal is larger than a run may be")
    return found


def _opener(folder: Path) -> Callable[[str], BinaryIO]:
    return lambda name: open_read(folder / name, most_bytes(name) or 0)


def _is_older_copy(root: Path, run_id: str, source: str, arrived: Path) -> bool:
    """Whether what is here came from there, and was not trained further here."""
    here = RunFolder(root / run_id)
    if not is_run(here) or (read_json(here.origin_path) or {}).get("source") != source:
        return False
    there = json.loads((arrived / "status.json").read_text()) if (arrived / "status.json").is_file() else {}
    steps = there.get("env_steps") if isinstance(there, dict) else None
    return registry.entry_of(here).env_steps <= (steps if isinstance(steps, int) else 0)
