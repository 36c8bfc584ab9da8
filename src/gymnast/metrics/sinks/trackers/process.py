"""What runs in a tracker's own process: it reads what the run sends and hands it to the library.

A thread reads, so that the run can send while the library is being imported or is slow; beyond `MOST_BYTES`
it stops reading, the run's queue fills up, and rows are dropped there. When the run ends, or is gone, the
library has the rest of its time to finish; then this process ends, whatever it is doing.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from gymnast.metrics.sinks.trackers.backend import Backend, Row, TrackedRun
from gymnast.metrics.sinks.trackers.histograms import histograms
from gymnast.metrics.sinks.trackers.rows import RowReader
from gymnast.processes.messages import receive_attached, send

MOST_BYTES = 64 << 20  # waiting to be handed over
MOST_FAILURES = 10  # in a row: then the library is given up
_PER_MESSAGE = 200  # bytes that one takes beside its rows, about
_NICE = 10  # where all cores are busy, training goes first
_LOST = 255  # exit code of a run whose process is gone
OUT_OF_TIME = 124  # exit code of this process where the library had not finished in time, as `timeout` has it

Message = tuple[dict[str, Any], bytes]


class Inbox:
    """Messages that have arrived and were not handed over yet."""

    def __init__(self, fd: int, seconds: float) -> None:
        self._fd = fd
        self._seconds = seconds  # to finish, if the run is gone
        self._waiting: deque[Message] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Message:
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            message = self._waiting.popleft()
            self._bytes -= _PER_MESSAGE + len(message[1])
            self._changed.notify_all()
        return message

    def _read(self) -> None:
        seconds = self._seconds
        while True:
            try:
                self._wait_for_room()
                message = receive_attached(self._fd)
            except (EOFError, OSError):  # the run was killed
                message = ({"end": {"exit_code": _LOST, "summary": {}}, "seconds": self._seconds}, b"")
            with self._changed:
                self._waiting.append(message)
                self._bytes += _PER_MESSAGE + len(message[1])
                self._changed.notify_all()
            if "end" in message[0]:
                seconds = message[0]["seconds"]
                break
        time.sleep(seconds)
        os._exit(OUT_OF_TIME)

    def _wait_for_room(self) -> None:
        hung_up = select.poll()
        hung_up.register(self._fd, 0)  # POLLHUP is always reported
        with self._changed:
            while self._bytes > MOST_BYTES:
                self._changed.wait(1.0)
                if hung_up.poll(0):
                    raise EOFError


def main(fd: int) -> None:
    """Serve one run until it ends."""
    order = receive_attached(fd)[0]["start"]
    sys.argv = ["gymnast"]  # what a library records as the command
    with suppress(OSError):
        os.nice(_NICE)
    inbox = Inbox(fd, order["settings"]["finish_seconds"])
    module, _, name = order["backend"].partition(":")  # one of ours, named in `settings.py`
    backend: Backend = getattr(import_module(module), name)(order["settings"])
    try:
        run = order["run"] | {"path": Path(order["run"]["path"])}
        tracked = TrackedRun(**run, config=order["config"], known=order["known"], pid=order["pid"])
        send(fd, {"connected": backend.connect(tracked)})
        _serve(fd, inbox, backend)
        send(fd, {"done": True})
    except (Exception, SystemExit) as error:
        _tell(fd, {"failed": backend.explain(error)})
        os._exit(1)  # a library that failed may wait for ever on its way out


def _serve(fd: int, inbox: Inbox, backend: Backend) -> None:
    reader, row = RowReader(), Row()
    guard = _Guard(fd, backend)
    while True:
        message, attached = inbox.next()
        if "layout" in message:
            reader.add_layout(message)
        elif "rows" in message:
            for row in reader.rows(message["rows"], attached):
                with guard:
                    backend.row(row)
        elif "end" in message:
            end = message["end"]
            backend.finish(end["exit_code"], end["summary"], message["seconds"])
            return
        else:
            with guard:
                _hand_over(message, backend, row)


def _hand_over(message: dict[str, Any], backend: Backend, row: Row) -> None:
    if "distributions" in message:
        backend.distributions(histograms(message["distributions"], message["labels"]))
    elif "alert" in message:
        backend.alert(message["alert"], row)
    elif "video" in message:
        backend.video(Path(message["video"]), message["env_steps"], row)
    elif "checkpoint" in message:
        backend.checkpoint(message["checkpoint"], message["reason"], row)


class _Guard:
    """Lets the library fail a few times, and reports the first time."""

    def __init__(self, fd: int, backend: Backend) -> None:
        self._fd = fd
        self._backend = backend
        self._in_a_row = self._all = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            self._in_a_row = 0
            return False
        self._in_a_row += 1
        self._all += 1
        if self._in_a_row == MOST_FAILURES:
            return False
        if self._all == 1:
            said = self._backend.explain(error)
            _tell(self._fd, {"warning": f"{said}; some of this run is missing there"})
        return True


def _tell(fd: int, message: dict[str, Any]) -> None:
    with suppress(OSError):  # the run is gone, and so is who could be told
        send(fd, message)
