"""A limit to how long one process trains, after which it saves and ends: what schedulers and clouds allow.

Unlike a budget of wall time it is not a setting of the run: the next process has the whole of it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from gymnast.training.requests import Request


class TimeLimit:
    """Asks for a stop once the time is over."""

    def __init__(self, seconds: float, notify: Callable[[str], None] = lambda text: None) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._text = f"the {seconds:g} s of this process are over: saving, to be continued"
        self._notify = notify
        self._noted = False

    def why_stop(self) -> str | None:
        return f"stopped by its time limit of {self._seconds:g} s" if self.stop_asked() else None

    def stop_asked(self) -> bool:
        return time.monotonic() >= self._ends

    def poll(self) -> set[Request]:
        if not self.stop_asked():
            return set()
        if not self._noted:
            self._noted = True
            self._notify(self._text)
        return {Request.STOP}

    def wait(self, seconds: float) -> set[Request]:
        time.sleep(max(0.0, min(seconds, self._ends - time.monotonic())))
        return self.poll()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
