"""A process that trains one trial after the other: what takes long to import is imported once."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from gymnast.processes.messages import has_arrived, receive, send
from gymnast.runs.provenance import ask_git_once
from gymnast.trials.leg import train_leg
from gymnast.trials.trial import Trial

_SAY_SECONDS = 0.2  # between two messages of progress
_MOST_PRINTED = 1_000_000  # bytes of what an env prints, of which only the end is ever shown


def main(fd: int, root: str) -> None:
    """Trials arrive on `fd`, one at a time; `{"stop": true}` asks to end the one under way."""
    faulthandler.enable()  # where an env crashes is printed, and the pool shows it
    ask_git_once()
    link = _Link(fd)
    while True:
        try:
            order = receive(fd)
        except (EOFError, OSError):
            return
        if "trial" not in order:  # a stop for what ended just now
            continue
        trial = Trial.from_json(order["trial"])
        link.begin()
        state = train_leg(trial, Path(root), link.progress, link.stop_asked)
        gc.collect()  # envs and buffers of this trial, before the next one needs memory
        sys.stdout.flush()
        with suppress(OSError):
            send(fd, {"ended": state.status, "env_steps": state.env_steps, "message": state.message})


class _Link:
    """The connection to the pool while a trial is under way."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._said = 0.0
        self._stop = False
        self._look = 0.0

    def begin(self) -> None:
        self._stop, self._said = False, 0.0
        self.progress(0)  # it has begun: from now on, limits count

    def progress(self, env_steps: int) -> None:
        now = time.monotonic()
        if now - self._said < _SAY_SECONDS:
            return
        self._said = now
        with suppress(OSError):  # the pool is gone: `stop_asked` sees that
            send(self._fd, {"env_steps": env_steps})
        with suppress(OSError):
            if os.fstat(1).st_size > _MOST_PRINTED:
                os.ftruncate(1, 0)

    def stop_asked(self) -> bool:
        if self._stop:
            return True
        now = time.monotonic()
        if now < self._look:
            return False
        self._look = now + 0.05
        if has_arrived(self._fd):
            with suppress(EOFError, OSError):
                receive(self._fd)  # nothing but a stop comes while a trial is under way
            self._stop = True
        return self._stop
