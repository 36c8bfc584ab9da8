"""Pictures of a recording, encoded in threads while the env steps.

Drawings stay lossless: as PNG they take a millisecond and a few kilobytes each. Pictures with the grain of a
camera or a 3-D game would take many times that, so they become JPEG, at a quality where its marks are hard
to find. The first picture decides for all.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

import numpy as np

from gymnast.traces.png import encode_png

PNG, JPEG = "image/png", "image/jpeg"
MIMES = (PNG, JPEG, "image/webp")
MOST_BYTES = 200_000_000  # of all pictures of a recording; beyond that there are none
_LARGE = 40_000  # bytes of a PNG
_QUALITY = 90
_WAITING = 64  # pictures in memory that are not encoded yet
_THREADS = 2


class PictureEncoder:
    """Takes pictures one by one and gives them back encoded, in order."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.mime = PNG
        self.dropped = False  # whether they grew too large and are gone
        self._most, self._bytes = most_bytes, 0
        self._encode: Callable[[np.ndarray], bytes] | None = None
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="pictures")
        self._waiting: deque[Future[bytes]] = deque()
        self._done: list[bytes] = []

    def add(self, picture: np.ndarray) -> None:
        """The array must not change afterwards."""
        if self.dropped:
            return
        if self._encode is None:
            self._choose(picture)
        assert self._encode is not None
        self._waiting.append(self._pool.submit(self._encode, picture))
        if len(self._waiting) > _WAITING:
            self._take()

    def finish(self) -> tuple[bytes, ...]:
        """All of them."""
        while self._waiting and not self.dropped:
            self._take()
        return () if self.dropped else tuple(self._done)

    def _choose(self, first: np.ndarray) -> None:
        self._encode = encode_png
        if len(encode_png(first)) > _LARGE and _has_pillow():
            self._encode, self.mime = _encode_jpeg, JPEG

    def _take(self) -> None:
        encoded = self._waiting.popleft().result()
        self._bytes += len(encoded)
        self._done.append(encoded)
        if self._bytes > self._most:
            self.dropped = True
            self._done.clear()
            self._waiting.clear()

    def __enter__(self) -> PictureEncoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _encode_jpeg(picture: np.ndarray) -> bytes:
    from PIL import Image

    data = io.BytesIO()
    Image.fromarray(picture).save(data, "JPEG", quality=_QUALITY, subsampling=0)
    return data.getvalue()


def _has_pillow() -> bool:
    from importlib.util import find_spec

    return find_spec("PIL") is not None
