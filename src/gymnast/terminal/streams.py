"""stdout and stderr of a command: closed, full or of another encoding, they never end in a traceback."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from gymnast.terminal.text import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

_faults: list[OSError] = []


class _Stdout(io.FileIO):
    """Remembers why it could not be written to: by the exception alone nobody can tell which file failed."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            _faults.append(error)
            raise


def prepare_streams() -> None:
    """Give closed streams somewhere to write to, and let no character be an error."""
    _faults.clear()
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:  # closed (`>&-`): the next file that is opened would become stdout
            os.open(os.devnull, os.O_RDONLY if fd == 0 else os.O_WRONLY)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123  - as long as the process lives
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    elif sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Stdout(sys.stdout.fileno(), "w", closefd=False)),
            encoding=sys.stdout.encoding,
            line_buffering=sys.stdout.line_buffering,
            write_through=sys.stdout.write_through,
        )
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    streams: Sequence[Any] = (sys.stdout, sys.stderr)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):  # a caller may have put something of its own in place
            stream.reconfigure(errors="replace")  # an ASCII locale shows '?', instead of a traceback


def output_fault() -> OSError | None:
    """Why stdout could not be written to; None if it could."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return _faults[-1] if _faults else None


def leave(code: int | str | None) -> NoReturn:
    """Exit. Flushes before Python does, where a closed pipe can still be distinguished from a full disk."""
    fault = output_fault()
    if fault is not None:
        if fault.errno != errno.EPIPE:  # a reader that has seen enough is not an error
            code = code or 1
            with suppress(OSError):
                echo(f"error: the output could not be written: {fault.strerror}", err=True, style="red")
        # Python flushes once more at exit and would complain; let it write to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with suppress(OSError):
        sys.stderr.flush()
    gc.freeze()  # Python's last collection would walk through all that was imported: a tenth of a second
    sys.exit(code)
