"""Configs beside the checkpoints that were trained with them, each named by its checksum."""

from __future__ import annotations

from pathlib import Path

from gymnast.runs.files import UnsafeFile, read_bytes, set_file_aside, sha256, write_atomic
from gymnast.runs.store import RunFolder


def kept_config_path(run: RunFolder, digest: str) -> Path:
    """Where the config with this checksum is kept."""
    return run.checkpoints / f"config-{digest[:16]}.yaml"


def keep_config(run: RunFolder, text: str) -> str:
    """Keep a config beside the checkpoints that are trained with it; its checksum, by which they name it."""
    data = text.encode()
    digest = sha256(data)
    path = kept_config_path(run, digest)
    try:
        kept = read_bytes(path)
    except (FileNotFoundError, UnsafeFile):
        kept = None
    if kept != data:
        set_file_aside(path)
        write_atomic(path, data, sync_folder=False)
    return digest
