"""Trainings that are being started: a client gets an answer at once, even if building the envs takes long."""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.mcp.serving import START, Serving

_WAIT_SECONDS = 1.6  # from the call, for the run to exist; most need less
_MOST_REMEMBERED = 100


class Starts:
    """Each start has an id until its run has one; a run that is resumed has had one all along. A training
    that was started outlives this process."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._pending: dict[str, Future[str]] = {}  # by the id of a start, or of a run that is resumed
        self._unfinished: list[Future[str]] = []  # there is no run yet that would be counted
        self._lock = threading.Lock()

    def begin(self, order: dict[str, Any], called: float) -> tuple[str, str]:
        """Start what `api.start_detached` starts: (the run's id, 'running'), or (the id to watch,
        'starting'). Refused if as many trainings as allowed are under way."""
        future: Future[str] = Future()
        key = order.get("resume") or f"{START}{secrets.token_hex(4)}"
        with self._lock:  # of two calls at once, the second counts the first
            if (earlier := self._pending.get(key)) is not None and not earlier.done():
                raise GymnastError(f"run {key} is being resumed already: follow it with watch_run")
            self._unfinished = [other for other in self._unfinished if not other.done()]
            self._serving.refuse_crowd(len(self._unfinished))
            self._unfinished.append(future)
            self._pending[key] = future
            while len(self._pending) > _MOST_REMEMBERED:
                self._pending.pop(next(iter(self._pending)))
        threading.Thread(target=_start, args=(future, order), daemon=True).start()
        try:
            begun = future.result(max(0.0, called + _WAIT_SECONDS - time.monotonic())), "running"
        except NotYet:
            return key, "starting"
        except BaseException:
            self._forget(key)
            raise
        self._forget(key)
        return begun

    def awaits(self, run: str) -> bool:
        """Whether this run is being resumed, or could not be and nobody was told."""
        with self._lock:
            return run in self._pending

    def run_of(self, start: str) -> str | None:
        """The id of the run that came of a start; None while there is none. Raises what it failed with."""
        with self._lock:
            future = self._pending.get(start)
        if future is None:
            if not start.startswith(START):  # resumed, as another call was told
                return start
            raise GymnastError(f"no start {start!r} is known here any more: list_runs shows what is trained")
        if not future.done():
            return None
        if not start.startswith(START):  # from now on, the run's own state is what counts
            self._forget(start)
        return future.result()

    def _forget(self, key: str) -> None:
        with self._lock:
            self._pending.pop(key, None)


def _start(future: Future[str], order: dict[str, Any]) -> None:
    try:
        future.set_result(api.start_detached(**order).id)
    except BaseException as error:
        future.set_exception(error)
