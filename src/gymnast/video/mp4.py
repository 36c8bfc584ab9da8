"""H.264 in MP4, one frame after another: memory does not grow with the length of a video.

The file is written under another name and gets its own when it is complete, so that an interrupted
video never looks like a finished one.
"""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gymnast.errors import MissingExtra
from gymnast.runs.files import open_new, remove, users_place, write_failed

EXTRA = "video"
_BT601, _LIMITED_RANGE = 6, 1  # as FFmpeg counts them


def video_possible() -> bool:
    """Whether the extra that encodes videos is installed."""
    return find_spec("av") is not None


def require_video(what: str) -> None:
    """Raise MissingExtra unless videos can be made."""
    if not video_possible():
        raise MissingExtra(what, EXTRA)


class Encoder:
    """Writes frames [height, width, 3] uint8 into an MP4 file that any browser plays."""

    def __init__(self, path: Path, width: int, height: int, fps: float) -> None:
        require_video("a video")
        import av

        self.path = path
        self.frames = 0
        # The colours of 4:2:0 come in blocks of two by two: an odd side gets one more row or column.
        self.height, self.width = self._shape = (height + height % 2, width + width % 2)
        self._unfinished = users_place(path).with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Created here, because FFmpeg would follow a link that has its name.
            open_new(self._unfinished).close()
            # faststart: the index comes first, so that a browser can play while it loads.
            self._file = av.open(str(self._unfinished), "w", format="mp4", options={"movflags": "+faststart"})
        except OSError as error:
            raise write_failed(path, error) from error
        rate = Fraction(fps).limit_denominator(1000)
        # Without mbtree, whose vectorised code gives other bits each time on some CPUs: the same pictures
        # make the same file.
        options = {"crf": "20", "preset": "veryfast", "x264-params": "mbtree=0"}
        stream: Any = self._file.add_stream("libx264", rate=rate, options=options)
        stream.height, stream.width = self._shape
        stream.pix_fmt = "yuv420p"
        # How the colours were converted, so that no player has to guess.
        stream.codec_context.colorspace, stream.codec_context.color_range = _BT601, _LIMITED_RANGE
        self._stream = stream
        self._frame_of = av.VideoFrame.from_ndarray

    def write(self, picture: np.ndarray, times: int = 1) -> None:
        """Add a picture; `times` holds it for that many frames."""
        if picture.shape[:2] != self._shape:
            missing = [(0, whole - side) for whole, side in zip(self._shape, picture.shape[:2], strict=True)]
            picture = np.pad(picture, (*missing, (0, 0)), mode="edge")
        picture = np.ascontiguousarray(picture)
        try:
            for _ in range(times):
                frame: Any = self._frame_of(picture, format="rgb24")
                frame.pts = self.frames
                self._file.mux(self._stream.encode(frame))
                self.frames += 1
        except OSError as error:
            raise write_failed(self.path, error) from error

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._file.mux(self._stream.encode(None))  # what the encoder still holds back
            self._file.close()
            if kind is None:
                self._unfinished.replace(self.path)
        except OSError as failure:
            if kind is None:  # otherwise the first error is the one to report
                raise write_failed(self.path, failure) from failure
        finally:
            remove(self._unfinished)
