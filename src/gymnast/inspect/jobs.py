"""Recordings under way: one at a time, by a process of its own that is kept for the next one."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from gymnast.errors import GymnastError
from gymnast.processes.messages import has_arrived, receive, send
from gymnast.processes.start import Child, how_it_ended, start_child
from gymnast.web.security import Refused

State = Literal["queued", "running", "done", "failed", "cancelled"]
_MOST_WAITING = 16
_MOST_KEPT = 200  # jobs that are over
_SILENT_SECONDS = 600.0  # after which a recording that says nothing is given up
_CANCEL_SECONDS = 3.0  # for the process to stop by itself
_LOOK_SECONDS = 0.1


@dataclass(slots=True)
class Job:
    """One recording, from the wish to the end."""

    id: int
    wish: dict[str, Any]
    state: State = "queued"
    done: int = 0
    error: str | None = None
    recording: str | None = None
    cancel: bool = False
    seconds: float = 0.0  # that it took

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    def fail(self, why: str) -> None:
        """Whoever cancelled it need not hear why it ended."""
        self.error, self.state = (None, "cancelled") if self.cancel else (why, "failed")

    def to_json(self) -> dict[str, Any]:
        return {
            "job": str(self.id),
            "state": self.state,
            "done": self.done,
            "total": self.wish["steps"],
            "error": self.error,
            "recording": self.recording,
            "seconds": round(self.seconds, 3),
        }


class Jobs:
    """The queue, the thread that works on it, and the process that records."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._numbers = count(1)
        self._waiting: queue.Queue[Job | None] = queue.Queue()
        self._lock = threading.Lock()
        self._process: _Recorder | None = None
        self._closed = False
        self._thread: threading.Thread | None = None  # none before the first recording

    def add(self, wish: dict[str, Any]) -> Job:
        with self._lock:
            if sum(not job.is_over for job in self._jobs.values()) >= _MOST_WAITING:
                raise Refused(409, f"{_MOST_WAITING} recordings are waiting already; cancel some")
            for old in [job.id for job in self._jobs.values() if job.is_over][:-_MOST_KEPT]:
                del self._jobs[old]
            job = Job(next(self._numbers), wish)
            self._jobs[job.id] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="recordings", daemon=True)
                self._thread.start()
        self._waiting.put(job)
        return job

    def get(self, number: str) -> Job:
        job = (
            self._jobs.get(int(number))
            if number.isascii() and number.isdigit() and len(number) < 10
            else None
        )
        if job is None:
            raise Refused(404, f"there is no job {number[:20]!r}")
        return job

    def all(self) -> list[Job]:
        return list(self._jobs.values())

    def cancel(self, job: Job) -> None:
        job.cancel = True
        if job.state == "queued":
            job.state = "cancelled"

    def warm_up(self) -> None:
        """Start the process now, so that the first recording need not wait for it."""
        with self._lock:
            if self._process is None and not self._closed:
                self._process = _Recorder()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.cancel = True
        self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(timeout=_CANCEL_SECONDS)
        with self._lock:
            if self._process is not None:
                self._process.end()
                self._process = None

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            if job.cancel or self._closed:
                job.state = "cancelled"
                continue
            job.state = "running"
            began = time.monotonic()
            try:
                self.warm_up()
                assert self._process is not None
                self._process.record(job)
            except _Lost as lost:
                self._drop_process()
                job.fail(str(lost))
            except Exception as error:  # the thread must live: the next recording may be fine
                self._drop_process()
                job.fail(str(error))
            job.seconds = time.monotonic() - began

    def _drop_process(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process = None


class _Lost(GymnastError):
    """The process that recorded is gone, or does not answer."""


class _Recorder:
    """The process, seen from the server."""

    def __init__(self) -> None:
        theirs_in, self._wishes = os.pipe()
        self._answers, theirs_out = os.pipe()
        try:
            self._child: Child = start_child(
                "gymnast.inspect.recorder_process:main",
                (theirs_in, theirs_out),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def record(self, job: Job) -> None:
        """Have it recorded; `_Lost` if the process does not survive it."""
        self._send({"job": job.id, "wish": job.wish})
        heard, asked_at = time.monotonic(), None
        while True:
            if has_arrived(self._answers, _LOOK_SECONDS):
                heard = time.monotonic()
                message = self._receive()
                if message.get("job") == job.id and self._take(job, message):
                    return
            elif time.monotonic() - heard > _SILENT_SECONDS:
                raise _Lost(f"the recording was given up: nothing happened for {_SILENT_SECONDS:g} s")
            if job.cancel and asked_at is None:
                asked_at = time.monotonic()
                self._send({"cancel": job.id})
            if asked_at is not None and time.monotonic() - asked_at > _CANCEL_SECONDS:
                raise _Lost("cancelled")

    def _take(self, job: Job, message: dict[str, Any]) -> bool:
        """Whether the job is over."""
        if "steps" in message:
            job.done = message["steps"]
            return False
        job.recording, job.error = message.get("recording"), message.get("error")
        if job.recording is not None:
            job.state = "done"
        else:
            job.fail(job.error or "the recording failed")
        return True

    def _send(self, message: dict[str, Any]) -> None:
        try:
            send(self._wishes, message)
        except OSError:
            raise self._lost() from None

    def _receive(self) -> dict[str, Any]:
        try:
            message = receive(self._answers)
        except (EOFError, OSError, ValueError):
            raise self._lost() from None
        return message if isinstance(message, dict) else {}

    def _lost(self) -> _Lost:
        with suppress(subprocess.TimeoutExpired):
            code = self._child.process.wait(timeout=2.0)
            return _Lost(f"the process that plays the environment {how_it_ended(code)}")
        return _Lost("the process that plays the environment does not answer")

    def end(self) -> None:
        self._close()
        self._child.end(1.0)

    def kill(self) -> None:
        self._close()
        self._child.release()
        self._child.kill()

    def _close(self) -> None:
        for descriptor in (self._wishes, self._answers):
            with suppress(OSError):
                os.close(descriptor)
