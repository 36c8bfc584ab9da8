"""Ctrl-C, SIGTERM and a lost terminal as a request: finish the update, save, then exit."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_ALWAYS = (signal.SIGINT, signal.SIGTERM)
_SIGNALS = (*_ALWAYS, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))  # Windows has no SIGHUP
FIRST_NOTICE = "{name}: finishing this update, then saving — press Ctrl-C again to abort at once"


@dataclass(slots=True)
class StopRequest:
    """What the loop checks between updates: the name of the signal that asked it to stop, if any."""

    requested: str | None = None


@contextmanager
def catch_signals(notify: Callable[[str], None] | None = None) -> Iterator[StopRequest]:
    """Turn the first SIGINT, SIGTERM or SIGHUP into a request, and the second into KeyboardInterrupt.

    Under `nohup` SIGHUP stays ignored, so that the run outlives its terminal. Python lets only the main
    thread set handlers; in any other thread this yields a request that no signal sets.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        if request.requested is not None:
            raise KeyboardInterrupt
        request.requested = signal.Signals(number).name
        if notify is not None:
            notify(FIRST_NOTICE.format(name=request.requested))

    # getsignal() is None for a handler that C code installed: it could not be restored, so it stays.
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    ours = {
        number: old
        for number, old in before.items()
        if old is not None and not (number not in _ALWAYS and old is signal.SIG_IGN)
    }
    try:
        for number in ours:
            signal.signal(number, handle)
        yield request
    finally:
        for number, old in ours.items():
            signal.signal(number, old)
