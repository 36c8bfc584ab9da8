"""What envs and the libraries they bring print, kept apart from what a command prints.

They write to standard output and standard error as they like: while building, stepping and closing, from
Python and from C, here and in worker processes. Inside `captured`, both descriptors lead to a file that
children inherit; `drain` hands its new lines to the run's log. A file and not a pipe: it cannot fill up and
block code that holds the interpreter's lock, and printing costs what it always does.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from tempfile import TemporaryFile
from typing import TextIO

from gymnast.errors import GymnastError

_LIMIT = 5_000_000  # bytes that are logged; an env that prints in every step would fill the disk
_SHOWN_LINES = 20  # of those that no log took
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

Write = Callable[[str], None]


class _Capture:
    """The file behind both descriptors, and the streams that they led to before."""

    def __init__(self, show: Write) -> None:
        self._show = show
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115  - open until `restore`
        self._read = self._logged = 0
        self._rest = b""  # of a line that is not finished
        self.write: Write | None = None
        flush_streams()
        self.streams = (_own_stream(sys.stdout), _own_stream(sys.stderr))
        theirs = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, TextIOWrapper)]
        self._buffered = [stream for stream in theirs if not stream.line_buffering]
        for stream in self._buffered:
            stream.reconfigure(line_buffering=True)
        _append_only(self._file.fileno())
        for descriptor in (1, 2):
            os.dup2(self._file.fileno(), descriptor)

    def restore(self) -> None:
        flush_streams()
        for descriptor, stream in zip((1, 2), self.streams, strict=True):
            with suppress(OSError):  # nobody reads any more
                stream.flush()
            os.dup2(stream.fileno(), descriptor)
        for wrapper in self._buffered:
            wrapper.reconfigure(line_buffering=False)
        try:
            self.drain(last=True)
        finally:
            for stream in self.streams:
                with suppress(OSError):
                    stream.close()
            self._file.close()

    def drain(self, last: bool = False) -> None:
        """Hand over the lines that are new; with `last` show them if nobody else takes them."""
        descriptor = self._file.fileno()
        size = os.fstat(descriptor).st_size
        if size == self._read and not (last and self._rest):
            return
        if self.write is None and not last:
            return
        data = self._rest + os.pread(descriptor, size - self._read, self._read)
        self._read = size
        if self._logged > _LIMIT:
            os.ftruncate(descriptor, 0)
            self._read, self._rest = 0, b""
            return
        lines, self._rest = (data, b"") if last else _whole_lines(data)
        self._logged += len(lines)
        text = _ESCAPES.sub("", lines.decode(errors="replace")).strip("\n")
        if self._logged > _LIMIT:
            text = f"{text[:_LIMIT]}\n… (what the env prints from here on is left out)"
        if not text.strip():
            return
        try:
            if self.write is not None:
                self.write(text)
                return
        except GymnastError:
            if not last:
                raise
        with suppress(OSError):
            self._show("\n".join(text.splitlines()[-_SHOWN_LINES:]))


_capture: _Capture | None = None  # there is one pair of descriptors in the process


@contextmanager
def captured(show: Write) -> Iterator[None]:
    """Keep what envs print away from standard output and standard error: `stdout` and `stderr` lead there.

    The last lines that no log took are shown by `show` at the end. Does nothing inside another one, or where
    a caller has put streams of its own in place.
    """
    global _capture  # noqa: PLW0603
    if _capture is not None or not _can_capture():
        yield
        return
    _capture = _Capture(show)
    logger = logging.getLogger("gymnast")
    handler = logging.StreamHandler(_capture.streams[1])
    if not logger.hasHandlers():  # otherwise Python would print what is logged to the captured stream
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        capture, _capture = _capture, None
        capture.restore()


def send_to(write: Write) -> None:
    """From now on, and from what was printed so far, lines go to `write`."""
    if _capture is not None:
        _capture.write = write
        _capture.drain()


def drain() -> None:
    """Hand over what was printed since the last time; next to nothing if that is nothing."""
    if _capture is not None:
        _capture.drain()


def is_captured() -> bool:
    return _capture is not None


def stdout() -> TextIO:
    """Standard output as the user sees it."""
    return sys.stdout if _capture is None else _capture.streams[0]


def stderr() -> TextIO:
    """Standard error, likewise."""
    return sys.stderr if _capture is None else _capture.streams[1]


def flush_streams() -> None:
    """Write out what Python and C code have printed: both keep it where the output is not a terminal."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if os.name == "posix":
        import ctypes

        ctypes.CDLL(None).fflush(None)


def _can_capture() -> bool:
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
    except (OSError, ValueError, AttributeError):  # replaced by a test or a notebook, or closed
        return False


def _own_stream(stream: TextIO) -> TextIO:
    return os.fdopen(os.dup(stream.fileno()), "w", buffering=1, encoding=stream.encoding, errors="replace")


def _append_only(descriptor: int) -> None:
    """Several processes write to the file, and it may be emptied."""
    if os.name == "posix":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)


def _whole_lines(data: bytes) -> tuple[bytes, bytes]:
    head, newline, rest = data.rpartition(b"\n")
    return head + newline, rest
