"""Recording a sitting: a video as it is played, and the trace when it is over, in a thread of their own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError
from gymnast.runs.files import users_place
from gymnast.traces.keep import TraceKeeper
from gymnast.traces.step import TraceStep
from gymnast.traces.store import save_trace
from gymnast.traces.trace import Trace
from gymnast.video.mp4 import require_video
from gymnast.video.write import write_video

_WAITING = 120  # steps that may wait to be encoded; then the game waits
_SUFFIXES = (".mp4", ".trace")


class Recording:
    """`NAME.mp4` and `NAME.trace`. What was played last is in both, however the sitting ends."""

    def __init__(self, place: Path, fps: float) -> None:
        require_video("--record")
        self.video, self.trace = (place.with_name(place.name + suffix) for suffix in _SUFFIXES)
        self.steps = 0
        self.kept: Trace | None = None  # what is in the trace, once it is finished
        self.cut_at: int | None = None  # the step from which the trace had no room; the video is whole
        self._fps = fps
        self._keeper = TraceKeeper()
        self._queue: queue.Queue[TraceStep | None] = queue.Queue(_WAITING)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="recording", daemon=True)
        self._thread.start()

    def keep(self, step: TraceStep) -> None:
        """Take a step. Raises what went wrong with one before, such as a full disk."""
        self._check()
        while True:
            try:
                self._queue.put(step, timeout=0.2)
                return
            except queue.Full:
                self._check()

    def finish(self, about: dict[str, Any]) -> tuple[Path, Path] | None:
        """Write the rest; the two files. None: nothing was played."""
        self._queue.put(None)
        self._thread.join()
        self._check()
        if not self.steps:
            return None
        self.kept = self._keeper.trace(**about)
        save_trace(self.kept, self.trace)
        return self.video, self.trace

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _taken(self) -> Iterator[TraceStep]:
        while (step := self._queue.get()) is not None:
            if step.step:
                self.steps += 1
            yield step

    def _write(self) -> None:
        steps = self._taken()
        try:
            first = next(steps, None)
            if first is not None:
                write_video(self.video, self._traced(chain([first], steps)), self._fps, 1)
        except BaseException as error:
            self._failure = error
            for _ in steps:  # whoever plays must never wait for a queue that nobody empties
                pass

    def _traced(self, steps: Iterator[TraceStep]) -> Iterator[TraceStep]:
        """The same steps; those that the trace has room for are kept."""
        yield from self._keeper.keep(steps)
        for step in steps:
            self.cut_at = self.steps if self.cut_at is None else self.cut_at
            yield step


def recording_place(given: Path, env_id: str, seed: int) -> Path:
    """Where a recording goes, without its suffix: as named, or in the folder named."""
    given = given.expanduser()
    if given.suffix in _SUFFIXES:
        place = given.with_suffix("")
    elif given.is_dir() or str(given).endswith("/"):
        place = given / f"{env_id.replace('/', '-').replace(':', '-')}-{seed}"
        number = 2
        while any(place.with_name(place.name + suffix).exists() for suffix in _SUFFIXES):
            place = given / f"{env_id.replace('/', '-').replace(':', '-')}-{seed}-{number}"
            number += 1
    else:
        place = given
    try:
        folder = users_place(place).parent
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GymnastError(f"--record {given}: {error.strerror or error}") from error
    return place
