"""A large file of a run, in the parts that a browser asks for: it seeks in a video by ranges of bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gymnast.runs.files import open_read
from gymnast.web.security import Refused

MOST_BYTES = 4 << 30
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_CHUNK = 1 << 18


def answer_ranges(request: Request, path: Path, media_type: str) -> Response:
    """The file or one range of it. It is opened as every file of a run is: no link is followed."""
    try:
        file = open_read(path, MOST_BYTES)
    except OSError:
        raise Refused(404, "the file cannot be read") from None
    try:
        size = os.fstat(file.fileno()).st_size
        asked = request.headers.get("range")
        wanted = (0, size - 1) if asked is None else _wanted(asked, size)
    except BaseException:
        file.close()
        raise
    if wanted is None:
        file.close()
        return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    first, last = wanted
    headers = {"accept-ranges": "bytes", "content-length": str(last - first + 1)}
    if asked is not None:
        headers["content-range"] = f"bytes {first}-{last}/{size}"
    return StreamingResponse(_parts(file, first, last), 200 if asked is None else 206, headers, media_type)


def _wanted(asked: str, size: int) -> tuple[int, int] | None:
    """The first and the last byte; None for a range that the file does not have, or for several."""
    match = _RANGE.fullmatch(asked.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":  # the last so many bytes
        first, last = max(size - int(match[2]), 0), size - 1
    else:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
    return (first, last) if first <= last else None


def _parts(file: BinaryIO, first: int, last: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        left = last - first + 1
        while left > 0 and (data := file.read(min(left, _CHUNK))):
            left -= len(data)
            yield data
