"""Requests that other processes leave in the run's folder (`gymnast runs stop`, `api.pause` …)."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from gymnast.runs.store import RunFolder
from gymnast.runs.trainer import Announced
from gymnast.training.requests import Request

POLL_SECONDS = 0.2


class FileRequests:
    """As a context manager it announces the process that trains; enter it with the run's lock held."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._next_look = 0.0
        self._announced: Announced | None = None
        self._stop_waits = False
        self._unfinished = False  # whether someone waits to see that a request was acted on

    def poll(self) -> set[Request]:
        """What was asked since the last call. Cheap: it looks into the folder 5 times per second at most."""
        now = time.monotonic()
        if now < self._next_look and not self._unfinished:
            return set()
        self._next_look = now + POLL_SECONDS
        return self._take(paused=False)

    def stop_asked(self) -> bool:
        """Whether the next `poll` returns a stop; also cheap."""
        now = time.monotonic()
        if self._announced is None or now < self._next_look:
            return self._stop_waits
        self._next_look = now + POLL_SECONDS
        waiting = self._announced.waiting()
        self._stop_waits = Request.STOP.value in waiting
        if waiting:
            self._next_look = 0.0  # `poll` must not wait
        return self._stop_waits

    def wait(self, seconds: float) -> set[Request]:
        """The same while paused, which is shown to others too."""
        found = self._take(paused=True)
        if not found:
            time.sleep(seconds)
        elif found == {Request.RESUME} and self._announced is not None:
            self._announced.say_paused(False)  # at once: the next update may take minutes
            self._announced.done()
        return found

    def _take(self, paused: bool) -> set[Request]:
        if self._announced is None:
            return set()
        self._stop_waits = False
        self._announced.say_paused(paused)
        words = self._announced.take()
        self._unfinished = bool(words)
        found: set[Request] = set()
        for word in words:
            request = _REQUESTS.get(word)
            if request in _OPPOSITES:  # of both at once, the later one counts
                found.discard(_OPPOSITES[request])
            if request is not None:
                found.add(request)
        return found

    def __enter__(self) -> Self:
        self._announced = Announced(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._announced is not None:
            self._announced.withdraw()
            self._announced = None


_REQUESTS = {request.value: request for request in Request}
_OPPOSITES = {Request.PAUSE: Request.RESUME, Request.RESUME: Request.PAUSE}
