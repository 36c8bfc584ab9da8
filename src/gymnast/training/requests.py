"""What can be asked of a training while it runs, by the keys of a terminal, another process or a page."""

from __future__ import annotations

import time
from enum import Enum
from types import TracebackType
from typing import Protocol, Self


class Request(Enum):
    """What the loop does next, besides training. Values are the keys of a terminal."""

    CHECKPOINT = "c"
    EVALUATE = "e"
    PAUSE = "p"  # while paused: continue
    STOP = "q"


class Requests(Protocol):
    """Where requests come from. The loop enters it, polls it once per update, and leaves it at the end."""

    def poll(self) -> set[Request]:
        """What was asked since the last call; never blocks."""

    def wait(self, seconds: float) -> set[Request]:
        """As `poll`, sleeping until something is asked or the time is over: what a paused loop does."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NoRequests:
    """Nobody asks for anything."""

    def poll(self) -> set[Request]:
        return set()

    def wait(self, seconds: float) -> set[Request]:
        time.sleep(seconds)
        return set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
