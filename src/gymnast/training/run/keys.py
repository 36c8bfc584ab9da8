"""Keys while training: read from the terminal without blocking or a thread; its settings are restored after.

The terminal is switched to single keys when it is first looked at, so a crash before the first rollout leaves
nothing to repair. In the background, or without a terminal, nothing is touched.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from gymnast.training.requests import Request

try:
    import termios
    import tty

    _HAS_TERMIOS = True
except ImportError:  # Windows: training runs, the keys do nothing
    _HAS_TERMIOS = False

POLL_SECONDS = 0.05


KEYS_HELP = "c checkpoint · e evaluate · p pause · q stop and save · h help"
LONG_HELP = (
    "c  save a checkpoint now\n"
    "e  evaluate now\n"
    "p  pause, or resume\n"
    "q  finish this update (2 s at most for its rollout), save and stop (resume later with --resume)\n"
    "Ctrl-C does the same as q; twice aborts at once"
)
_REQUESTS = {"c": Request.CHECKPOINT, "e": Request.EVALUATE, "p": Request.PAUSE, "q": Request.STOP}


class TerminalKeys:
    """What the user asked for meanwhile; as a context manager it restores the terminal whatever happens.

    `p` toggles: it means PAUSE to `poll` and RESUME to `wait`, which only a paused loop calls.
    """

    def __init__(
        self,
        *,
        fd: int | None = None,
        on_help: Callable[[str], None] | None = None,
        on_suspend: Callable[[], None] | None = None,
        on_resume: Callable[[], None] | None = None,
    ) -> None:
        self._fd = _terminal(fd)
        self._on_help = on_help
        self._on_suspend = on_suspend
        self._on_resume = on_resume
        self._next_look = 0.0
        self._typed: list[str] = []  # keys that `poll` has not returned yet
        self._found: list[Any] | None = None  # the terminal's settings as we found them, first time
        self._ours = False  # whether single keys are in force now
        self._handlers: dict[signal.Signals, Any] = {}

    @property
    def listening(self) -> bool:
        """Whether keys can arrive at all; else they need not be shown."""
        return self._fd is not None

    def poll(self) -> set[Request]:
        """The keys pressed since the last call. Cheap: it looks at most 20 times per second."""
        self._look()
        return self._requests()

    def stop_asked(self) -> bool:
        """Whether q is among the keys that the next `poll` returns; just as cheap."""
        self._look()
        return "q" in self._typed

    def wait(self, seconds: float) -> set[Request]:
        """Sleep until a key arrives or the time is over: what a paused loop does instead of spinning."""
        if self._fd is None or not self._take_terminal():
            time.sleep(seconds)
            return set()
        self._read(timeout=seconds)
        requests = self._requests()
        return {Request.RESUME if request is Request.PAUSE else request for request in requests}

    def close(self) -> None:
        """Restore the terminal and the signal handlers; polling again would take them again."""
        self._release_terminal()
        for number, old in self._handlers.items():
            signal.signal(number, old)
        self._handlers.clear()
        atexit.unregister(self._release_terminal)

    def __enter__(self) -> TerminalKeys:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look(self) -> None:
        if self._fd is None or (now := time.monotonic()) < self._next_look:
            return
        self._next_look = now + POLL_SECONDS
        self._read(timeout=0.0)

    def _requests(self) -> set[Request]:
        """What the keys typed so far ask for, once."""
        if not self._typed:
            return set()
        keys, self._typed = self._typed, []
        requests = {_REQUESTS[key] for key in keys if key in _REQUESTS}
        if keys.count("p") % 2 == 0:  # pressed twice between two looks: paused and resumed already
            requests.discard(Request.PAUSE)
        return requests

    def _read(self, timeout: float) -> None:
        """Add what is typed now; help is shown at once."""
        if self._fd is None or not self._take_terminal():
            return
        try:
            ready, _, _ = select.select([self._fd], [], [], timeout)
            pressed = os.read(self._fd, 64) if ready else None
        except OSError:  # the terminal is gone (hang-up): continue without keys
            pressed = b""
        if pressed is None:
            return
        if not pressed:
            self._fd = None
            return
        # An arrow or function key arrives as ESC and letters; those letters are not requests.
        keys = [] if pressed.startswith(b"\x1b") else [chr(byte).lower() for byte in pressed]
        if self._on_help is not None and ("h" in keys or "?" in keys):
            self._on_help(LONG_HELP)
        self._typed += keys

    def _take_terminal(self) -> bool:
        """Switch to single keys if we are in the foreground; a background job must not touch the terminal."""
        assert self._fd is not None
        try:
            if os.tcgetpgrp(self._fd) != os.getpgrp():
                return False
            if self._found is None:
                self._found = termios.tcgetattr(self._fd)
                atexit.register(self._release_terminal)
            if not self._ours:
                self._catch_suspension()
                tty.setcbreak(self._fd, termios.TCSADRAIN)  # Ctrl-C and Ctrl-Z keep their meaning
                self._ours = True
        except (OSError, termios.error):
            self._fd = None
            return False
        return True

    def _release_terminal(self) -> None:
        if self._fd is None or self._found is None or not self._ours:
            return
        self._ours = False
        try:
            if os.tcgetpgrp(self._fd) == os.getpgrp():
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._found)
        except (OSError, termios.error):
            self._fd = None

    def _catch_suspension(self) -> None:
        if self._handlers or threading.current_thread() is not threading.main_thread():
            return
        for number, handler in ((signal.SIGTSTP, self._suspend), (signal.SIGCONT, self._continued)):
            old = signal.getsignal(number)
            if old is not None:
                self._handlers[number] = old
                signal.signal(number, handler)

    def _suspend(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: hand the shell a terminal in its own mode, then really stop."""
        self._release_terminal()
        if self._on_suspend is not None:
            self._on_suspend()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # stops here; the next line runs after `fg` or `bg`
        signal.signal(signal.SIGTSTP, self._suspend)
        if self._on_resume is not None:
            self._on_resume()

    def _continued(self, _number: int, _frame: FrameType | None) -> None:
        # The shell set its own mode meanwhile; the next look from the foreground takes single keys again.
        self._ours = False


def keys_help() -> str:
    """The keys in one line; empty where none can arrive."""
    return KEYS_HELP if _terminal(None) is not None else ""


def _terminal(fd: int | None) -> int | None:
    if not _HAS_TERMIOS:
        return None
    try:
        fd = sys.stdin.fileno() if fd is None else fd
    except (AttributeError, OSError, ValueError):  # no stdin, or one that is not a file (tests, notebooks)
        return None
    return fd if os.isatty(fd) else None
