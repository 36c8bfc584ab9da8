"""What can be asked of a training while it runs, by the keys of a terminal, another process or a page."""

from __future__ import annotations

import time
from contextlib import ExitStack
from enum import Enum
from types import TracebackType
from typing import Protocol, Self, runtime_checkable


class Request(Enum):
    """What the loop does next, besides training."""

    CHECKPOINT = "checkpoint"
    EVALUATE = "evaluate"
    PAUSE = "pause"  # while paused: nothing
    RESUME = "resume"  # while not paused: nothing
    STOP = "stop"


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


@runtime_checkable
class SeesStop(Protocol):
    """Requests that can also end a rollout or an evaluation which is under way."""

    def stop_asked(self) -> bool:
        """Whether a stop is asked for; it and everything else stays for the next `poll`. Called up to 20
        times per second; never blocks."""


@runtime_checkable
class SaysWhy(Protocol):
    """Requests that ask for a stop which nobody asked for."""

    def why_stop(self) -> str | None:
        """Why they ask for a stop; None while they do not."""


class AnyOf:
    """Several sources at once, or none."""

    def __init__(self, *sources: Requests) -> None:
        self._sources = sources
        self._seeing = [source for source in sources if isinstance(source, SeesStop)]
        self._entered = ExitStack()
        self._kept: set[Request] = set()  # asked for during a pause, due after it

    def poll(self) -> set[Request]:
        found, self._kept = self._kept, set()
        for source in self._sources:
            found |= source.poll()
        return found

    def stop_asked(self) -> bool:
        """Whether a source has a stop for the next `poll`."""
        return any(source.stop_asked() for source in self._seeing)

    def why_stop(self) -> str | None:
        """Why a stop is asked for, where a source has more to say than that."""
        saying = (source.why_stop() for source in self._sources if isinstance(source, SaysWhy))
        return next(filter(None, saying), None)

    def wait(self, seconds: float) -> set[Request]:
        """As of the sources; an evaluation that is asked for is also returned by the next `poll`."""
        found: set[Request] = set()
        for source in self._sources:
            found |= source.wait(seconds / len(self._sources))
        if not self._sources:
            time.sleep(seconds)
        self._kept |= found & {Request.EVALUATE}
        return found

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            for source in self._sources:
                entered.enter_context(source)
            self._entered = entered.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.__exit__(kind, error, trace)
