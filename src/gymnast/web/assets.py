"""Files of a page: listed once, never joined from a request's path."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast.web.security import Refused

_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
SHARED = Path(__file__).parent / "static"


class Assets:
    """The files of some folders, each under an address: {"/": folder, "/web/": folder}."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._files: dict[str, Path] = {}
        self._list()

    def _list(self) -> None:
        self._files = {
            prefix + path.relative_to(folder).as_posix(): path
            for prefix, folder in self._folders.items()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in (*_TYPES, ".png", ".woff2", ".json")
        }

    def route(self) -> Route:
        """For every address that no other route has."""
        return Route("/{path:path}", self.answer, methods=["GET"])

    async def answer(self, request: Request) -> Response:
        path = request.scope["path"]
        path = path + "index.html" if path.endswith("/") else path
        if path not in self._files:
            self._list()  # a file that was added since
        file = self._files.get(path)
        if file is None or path.startswith("/api/"):
            raise Refused(404, "there is nothing at this address")
        return answer_file(request, file)


def answer_file(request: Request, file: Path) -> Response:
    """A file of ours or of an installed package; only if the browser has not got it already."""
    stat = file.stat()
    plain, packed, tag = _content(file, stat.st_mtime_ns, stat.st_size)
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    zipped = packed is not None and "gzip" in request.headers.get("accept-encoding", "")
    headers = {"etag": tag, "vary": "accept-encoding"} | ({"content-encoding": "gzip"} if zipped else {})
    kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return Response(packed if zipped else plain, headers=headers, media_type=kind)


@lru_cache(maxsize=128)
def _content(file: Path, changed: int, size: int) -> tuple[bytes, bytes | None, str]:
    """As it is, packed where that saves much, and a tag that changes with it."""
    data = file.read_bytes()
    packed = gzip.compress(data, 5) if file.suffix in _TYPES and size > 20_000 else None
    return data, packed, f'"{hashlib.sha256(data).hexdigest()[:20]}"'
