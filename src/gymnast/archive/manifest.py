"""The list that goes with a travelling run: its id, and the size and checksum of each of its files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gymnast import __version__
from gymnast.archive.contents import MOST_BYTES, MOST_FILES, NEEDED, most_bytes
from gymnast.errors import GymnastError, cut
from gymnast.runs.files import parse_json
from gymnast.runs.ids import RUN_ID

NAME = "gymnast-run.json"
MOST_MANIFEST = 4 << 20
_FORMAT = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


class BadArchive(GymnastError):
    """What should be a run is damaged, incomplete or a trap. Nothing of it was kept."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file of a run."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A travelling run."""

    run: str  # its id
    files: Mapping[str, FileFacts]

    @property
    def total(self) -> int:
        return sum(file.bytes for file in self.files.values())

    def to_bytes(self) -> bytes:
        """Without a date: the same run makes the same file."""
        files = {name: asdict(facts) for name, facts in sorted(self.files.items())}
        document = {
            "format": _FORMAT,
            "run": self.run,
            "gymnast": __version__,
            "files": files,
        }
        return (json.dumps(document, indent=1) + "\n").encode()


def read_manifest(data: bytes, where: str) -> Manifest:
    """The manifest in `data`, if everything that it says makes sense; `where` is for the message."""
    try:
        document = parse_json(data)
    except ValueError as error:
        raise BadArchive(f"{where}: its {NAME} cannot be read: {error}") from error
    if not isinstance(document, dict) or "format" not in document:
        raise BadArchive(f"{where}: its {NAME} is not that of a run")
    if document["format"] != _FORMAT:
        raise BadArchive(
            f"{where} has format {cut(str(document['format']), 20)}; this version of Gymnast reads {_FORMAT}:"
            " a newer one may read it"
        )
    run, files = document.get("run"), document.get("files")
    if not isinstance(run, str) or not RUN_ID.fullmatch(run):
        raise BadArchive(f"{where}: {cut(repr(run))} is not the id of a run")
    if not isinstance(files, dict):
        raise BadArchive(f"{where}: its {NAME} lists no files")
    if len(files) > MOST_FILES:
        raise BadArchive(f"{where} lists {len(files):,} files; a run has at most {MOST_FILES:,}")
    manifest = Manifest(run, {name: _facts(name, value, where) for name, value in files.items()})
    if missing := [name for name in NEEDED if name not in files]:
        raise BadArchive(f"{where} has no {' and no '.join(missing)}: it is not a whole run")
    if manifest.total > MOST_BYTES:
        raise BadArchive(f"{where} unpacks to {manifest.total:,} bytes; at most {MOST_BYTES:,} are taken")
    return manifest


def _facts(name: str, value: Any, where: str) -> FileFacts:
    most = most_bytes(name)
    if most is None:
        raise BadArchive(f"{where} has a file that no run has: {cut(repr(name))}")
    sound = (
        isinstance(value, dict)
        and isinstance(digest := value.get("sha256"), str)
        and _SHA256.fullmatch(digest) is not None
        and type(value.get("bytes")) is int
        and value["bytes"] >= 0
    )
    if not sound:
        raise BadArchive(f"{where}: its {NAME} has no size and checksum for {name}")
    if value["bytes"] > most:
        raise BadArchive(f"{where}: {name} has {value['bytes']:,} bytes, more than the {most:,} that it may")
    return FileFacts(value["sha256"], value["bytes"])
