"""Recordings on disk, with the run that they are of; complete or not there.

    runs/k3v9x0ab/recordings/
      0f3a9c2144/
        recording.json   what was asked for, what came of it, limits of observations and actions
        trace/           the data (docs/traces.md), without pictures
        pictures.bin     the pictures as a browser shows them (web/wire.py); not there without pictures

A run folder may come from anybody: everything is checked as it is read, and no name in a file is opened.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from gymnast.errors import GymnastError, RunFailed
from gymnast.recordings.pictures import MIMES, MOST_BYTES, PNG
from gymnast.recordings.recording import Bounds, Recording, RecordingInfo
from gymnast.runs.files import (
    list_folder,
    make_folder,
    parse_json,
    read_bytes,
    refuse_link,
    remove_tree,
    write_atomic,
    write_failed,
)
from gymnast.runs.store import RunFolder
from gymnast.traces.meta import Count, Finite, Plain
from gymnast.traces.store import load_trace, save_trace
from gymnast.traces.trace import Trace
from gymnast.web import wire

_NUMBER = re.compile(r"[0-9a-f]{10}")
_ID = re.compile(r"([a-z0-9-]+)-([0-9a-f]{10})")
_DRAFT = ".new-"
_MOST_JSON = 1 << 20
_MOST_RECORDINGS = 1000  # that are listed of one run

Text = Annotated[str, Field(max_length=300)]
Limit = Annotated[float, Field(allow_inf_nan=False)] | None


class _Bounds(Plain):
    low: tuple[Limit, ...]
    high: tuple[Limit, ...]


class _Document(Plain):
    """recording.json."""

    format: Annotated[int, Field(ge=1, le=1)]
    env: Text
    checkpoint: Count | None
    seed: int
    stochastic: bool
    task: Text | None
    steps: Count
    returns: tuple[Finite | None, ...]
    created: Text
    player: Text
    overrides: dict[str, Any]
    rendered: bool
    bounds: dict[str, _Bounds]


def split_id(recording_id: str) -> tuple[str, str]:
    """The run's id and the number; GymnastError for what is not the id of a recording."""
    match = _ID.fullmatch(recording_id)
    if match is None:
        raise GymnastError(f"{recording_id!r} is not the id of a recording")
    return match[1], match[2]


def save_recording(
    run: RunFolder,
    trace: Trace,
    pictures: tuple[bytes, ...],
    mime: str,
    *,
    bounds: dict[str, Bounds],
    player: str = "policy",
    overrides: dict[str, Any] | None = None,
    rendered: bool = True,
) -> RecordingInfo:
    """Keep a recording with its run; its id is new."""
    number = secrets.token_hex(5)
    info = RecordingInfo.of(
        trace,
        name=f"{run.id}-{number}",
        run=run.id,
        player=player,
        overrides=overrides or {},
        rendered=rendered,
    )
    run.refuse_link()
    make_folder(run.recordings)
    draft, final = run.recordings / f"{_DRAFT}{number}", run.recordings / number
    try:
        make_folder(draft)
        save_trace(trace, draft / "trace")
        if pictures:
            packed = wire.pack({}, {}, frames=pictures, mime=mime)
            write_atomic(draft / "pictures.bin", packed, durable=False)
        write_atomic(draft / "recording.json", wire.json_bytes(_document(info, bounds)), durable=False)
        draft.rename(final)
    except OSError as error:
        raise write_failed(final, error) from error
    finally:
        remove_tree(draft)
    return info


def _document(info: RecordingInfo, bounds: dict[str, Bounds]) -> dict[str, Any]:
    known = {k: v for k, v in info.to_json().items() if k not in ("id", "run", "episodes", "return")}
    return {"format": 1, **known, "bounds": {name: b.to_json() for name, b in bounds.items()}}


def list_recordings(runs: Iterable[RunFolder]) -> list[RecordingInfo]:
    """The recordings of some runs, newest first; a damaged one is left out."""
    found: list[RecordingInfo] = []
    for run in runs:
        with suppress(GymnastError, OSError):
            for number in sorted(list_folder(run.recordings))[:_MOST_RECORDINGS]:
                if _NUMBER.fullmatch(number):
                    with suppress(GymnastError, OSError):
                        found.append(_read(run, number)[0])
    return sorted(found, key=lambda info: (info.created, info.id), reverse=True)


def load_recording(run: RunFolder, number: str) -> Recording:
    """One recording, checked; GymnastError says what is wrong with it."""
    info, bounds = _read(run, number)
    trace = load_trace(_folder(run, number) / "trace")
    # It is of the run that it lies in, whatever it says: a run may be copied, and a name may lead anywhere.
    trace = replace(trace, meta=trace.meta.model_copy(update={"run": run.id, "checkpoint": info.checkpoint}))
    pictures, mime = _read_pictures(_folder(run, number) / "pictures.bin")
    if not pictures and trace.pictures:
        pictures, mime = trace.pictures, PNG
    if pictures and len(pictures) != len(trace):
        raise GymnastError(f"the recording {info.id} is damaged: {len(pictures)} pictures, {len(trace)} rows")
    return Recording(info, trace, pictures, mime, bounds)


def read_info(run: RunFolder, number: str) -> RecordingInfo:
    return _read(run, number)[0]


def delete_recording(run: RunFolder, number: str) -> None:
    """Remove one that is there."""
    folder = _folder(run, number)
    doomed = folder.with_name(f"{_DRAFT}{number}")
    try:
        folder.rename(doomed)
    except OSError as error:
        raise RunFailed(f"the recording cannot be removed: {error.strerror or error}") from error
    remove_tree(doomed)


def clear_drafts(run: RunFolder) -> None:
    """Remove what killed processes left; nobody else may be recording."""
    with suppress(GymnastError):
        for name in list_folder(run.recordings):
            if name.startswith(_DRAFT) and _NUMBER.fullmatch(name.removeprefix(_DRAFT)):
                remove_tree(run.recordings / name)


def _folder(run: RunFolder, number: str) -> Path:
    """Looked up among those that are there, never joined from outside."""
    if number not in (name for name in list_folder(run.recordings) if _NUMBER.fullmatch(name)):
        raise GymnastError(f"run {run.id} has no recording {number[:20]!r}")
    folder = run.recordings / number
    for path in (folder, folder / "trace"):
        refuse_link(path)
    return folder


def _read(run: RunFolder, number: str) -> tuple[RecordingInfo, dict[str, Bounds]]:
    path = _folder(run, number) / "recording.json"
    try:
        document = _Document.model_validate_json(json.dumps(parse_json(read_bytes(path, _MOST_JSON))))
    except (OSError, ValueError, ValidationError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise GymnastError(f"the recording {run.id}-{number} cannot be read: {reason}") from error
    known = document.model_dump(exclude={"format", "bounds", "returns"})
    returns = tuple(np.nan if value is None else value for value in document.returns)
    info = RecordingInfo(id=f"{run.id}-{number}", run=run.id, returns=returns, **known)
    return info, {name: Bounds(b.low, b.high) for name, b in document.bounds.items()}


def _read_pictures(path: Path) -> tuple[tuple[bytes, ...], str]:
    try:
        data = read_bytes(path, 2 * MOST_BYTES)
    except FileNotFoundError:
        return (), PNG
    try:
        header, arrays = wire.unpack(data)
        mime, ends = header["frames"]["mime"], arrays["frames_ends"].tolist()
        frames = arrays["frames"].tobytes()
    except (ValueError, KeyError, TypeError, AttributeError, MemoryError, RecursionError) as error:
        raise GymnastError(f"the pictures of the recording are damaged: {error}") from error
    starts = [0, *ends[:-1]]
    ordered = all(0 <= a <= b for a, b in zip(starts, ends, strict=True))
    if mime not in MIMES or not ordered or (ends[-1] if ends else 0) != len(frames):
        raise GymnastError("the pictures of the recording are damaged")
    return tuple(frames[a:b] for a, b in zip(starts, ends, strict=True)), mime
