"""Traces on disk: a folder of plain data, complete or not there, and checked before it is used.

    NAME/
      trace.json                     metadata, and the checksums of the other two
      arrays-<checksum>.safetensors  the columns; labels and infos as JSON text
      frames-<checksum>.png          the pictures, one PNG after the other; not there without frames

The JSON is written last, in one move. Until then a trace that was there before stays as it was.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from gymnast.errors import GymnastError
from gymnast.runs.arrays import pack, unpack
from gymnast.runs.files import (
    fsync_folder,
    list_folder,
    parse_json,
    read_bytes,
    remove,
    sha256,
    write_atomic,
    write_failed,
)
from gymnast.traces.meta import Count, Plain, Sha256, TraceMeta
from gymnast.traces.png import png_size
from gymnast.traces.trace import Trace, check_trace

JSON_NAME = "trace.json"
MOST_BYTES = 2_000_000_000  # of a trace that is read, by default
_MOST_JSON = 20_000_000
_TEXT, _ENDS = "$text", "$frame_ends"  # no column begins with $
_OWN_FILE = re.compile(r"(arrays-[0-9a-f]{16}\.safetensors|frames-[0-9a-f]{16}\.png)")


class File(Plain):
    """A file beside the JSON. It is named by its checksum, so no name from a file is ever opened."""

    sha256: Sha256
    bytes: Count


class Document(Plain):
    """trace.json."""

    format: Literal[1]
    arrays: File
    frames: File | None
    meta: TraceMeta


def save_trace(trace: Trace, folder: Path | str) -> Path:
    """Write a trace into a folder of its own; one that is there already is replaced."""
    given, folder = Path(folder), Path(folder).resolve()  # where it goes is the user's choice, links included
    _check_place(folder)
    arrays = dict(trace.columns)
    text = json.dumps({"labels": trace.labels, "infos": trace.infos}, separators=(",", ":"))
    arrays[_TEXT] = np.frombuffer(text.encode(), np.uint8)
    pictures = b"".join(trace.pictures)
    if trace.pictures:
        arrays[_ENDS] = np.cumsum([len(picture) for picture in trace.pictures], dtype=np.int64)
    packed = pack(arrays)
    document = Document(
        format=1,
        arrays=File(sha256=sha256(packed), bytes=len(packed)),
        frames=File(sha256=sha256(pictures), bytes=len(pictures)) if trace.pictures else None,
        meta=trace.meta,
    )
    body = document.model_dump(mode="json")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failed(folder, error) from error
    wanted = {JSON_NAME, arrays_name(document.arrays)}
    write_atomic(folder / arrays_name(document.arrays), packed, sync_folder=False)
    if document.frames is not None:
        wanted.add(frames_name(document.frames))
        write_atomic(folder / frames_name(document.frames), pictures, sync_folder=False)
    fsync_folder(folder)  # the arrays must be there before the JSON names them
    write_atomic(folder / JSON_NAME, json.dumps({**body, "checksum": _checksum(body)}))
    for name in list_folder(folder):  # of the trace that was there before
        if name not in wanted and _OWN_FILE.fullmatch(name):
            remove(folder / name)
    return given


def load_trace(folder: Path | str, max_bytes: int = MOST_BYTES) -> Trace:
    """Read a trace that may come from anywhere: GymnastError names what is wrong with it."""
    given, folder = Path(folder), Path(folder).resolve()
    try:
        document = _read_document(folder)
        arrays = _read_arrays(_read(folder / arrays_name(document.arrays), document.arrays, max_bytes))
        pictures: tuple[bytes, ...] = ()
        if document.frames is not None:
            data = _read(folder / frames_name(document.frames), document.frames, max_bytes)
            pictures = _split(data, arrays.pop(_ENDS, None))
        labels, infos = _read_text(arrays.pop(_TEXT, None))
        trace = Trace(document.meta, arrays, labels, infos, pictures)
        check_trace(trace)
    except GymnastError as error:
        raise GymnastError(f"{given} cannot be read as a trace: {error}") from error
    return trace


def arrays_name(file: File) -> str:
    return f"arrays-{file.sha256[:16]}.safetensors"


def frames_name(file: File) -> str:
    return f"frames-{file.sha256[:16]}.png"


def _check_place(folder: Path) -> None:
    """Never mix a trace with the files of something else."""
    if folder.is_dir():
        others = [name for name in list_folder(folder) if not name.startswith(".")]
        if others and JSON_NAME not in others and not all(map(_OWN_FILE.fullmatch, others)):
            raise GymnastError(f"{folder} holds other files ({others[0]}): name a new folder for the trace")
    elif folder.exists():
        raise GymnastError(f"{folder} is a file: name a folder for the trace")


def _read_document(folder: Path) -> Document:
    path = folder / JSON_NAME
    if not path.exists():
        raise GymnastError(f"there is no {JSON_NAME}")
    try:
        body = parse_json(_bytes(path, _MOST_JSON))
        if not isinstance(body, dict):
            raise GymnastError(f"{JSON_NAME} is not an object")
        if body.pop("checksum", None) != _checksum(body):
            raise GymnastError(f"{JSON_NAME} was changed")
        return Document.model_validate_json(json.dumps(body))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise GymnastError(f"{JSON_NAME}: {where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise GymnastError(f"{JSON_NAME} is not JSON ({error})") from error


def _checksum(body: dict[str, Any]) -> str:
    return sha256(json.dumps(body, sort_keys=True).encode())


def _read(path: Path, file: File, max_bytes: int) -> bytes:
    """The content of a file, after its size is known to be the announced one and bearable."""
    if file.bytes > max_bytes:
        raise GymnastError(f"{path.name} has {file.bytes:,} bytes, more than the {max_bytes:,} allowed")
    data = _bytes(path, file.bytes)
    if len(data) != file.bytes or sha256(data) != file.sha256:
        raise GymnastError(f"{path.name} is damaged or incomplete")
    return data


def _bytes(path: Path, most: int) -> bytes:
    try:
        return read_bytes(path, most)
    except OSError as error:
        raise GymnastError(f"{path.name}: {error.strerror}") from error


def _read_arrays(data: bytes) -> dict[str, np.ndarray]:
    try:
        return unpack(data)
    except Exception as error:  # the library's own errors, of which it has several kinds
        raise GymnastError(f"its arrays cannot be read ({type(error).__name__}: {error})") from error


def _split(data: bytes, ends: np.ndarray | None) -> tuple[bytes, ...]:
    """The pictures, one by one; each has a sound header."""
    if ends is None or ends.dtype != np.int64 or ends.ndim != 1 or not len(ends):
        raise GymnastError("it does not say where its pictures end")
    starts = np.concatenate([[0], ends[:-1]])
    if int(ends[-1]) != len(data) or bool((starts < 0).any()) or bool((ends < starts).any()):
        raise GymnastError("its pictures end elsewhere than their file")
    pictures = tuple(data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True))
    for picture in pictures:
        png_size(picture)
    return pictures


def _read_text(array: np.ndarray | None) -> tuple[tuple[str, ...], tuple[dict[str, Any], ...]]:
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise GymnastError("its labels and infos are missing")
    try:
        text = parse_json(array.tobytes())
    except (ValueError, RecursionError) as error:
        raise GymnastError(f"its labels and infos are not JSON ({error})") from error
    if not isinstance(text, dict) or text.keys() != {"labels", "infos"}:
        raise GymnastError("its labels and infos are not there")
    labels, infos = text["labels"], text["infos"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise GymnastError("its labels are not texts")
    if not isinstance(infos, list) or not all(isinstance(info, dict) for info in infos):
        raise GymnastError("its infos are not objects")
    return tuple(labels), tuple(infos)
