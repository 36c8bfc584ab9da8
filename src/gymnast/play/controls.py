"""What a person asks for, from whichever thread: keys that are held or pressed, and commands.

A keyboard over a network may fall silent with a key down. So keys are on a lease: whoever sends them says
so again all the time, and where nothing was heard for `LEASE_SECONDS` they count as lost.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LEASE_SECONDS = 0.25
KEEP_ALIVE_SECONDS = 0.05  # how often a page says what is held
_MOST_PRESSES = 8  # that wait for their turn; more would be played long after they were meant


@dataclass(frozen=True, slots=True)
class Command:
    """One thing to do: pause, hold, lost, release, step, restart, driver, take_over, speed … quit."""

    name: str
    value: Any = None


class Controls:
    """Shared between the thread that plays and the one that listens."""

    def __init__(self, lease: float | None = LEASE_SECONDS) -> None:
        """Without a lease keys count as held until they are released, as those of a window are."""
        self._lease = lease
        self._wake = threading.Condition()
        self._held: list[str] = []  # oldest first
        self._presses: deque[str] = deque(maxlen=_MOST_PRESSES)
        self._commands: deque[Command] = deque()
        self._heard = float("-inf")
        self._lost: str | None = None  # why the keyboard is not to be relied on

    def hold(self, keys: Iterable[str]) -> None:
        """All keys that are down now. Those that were up before count as pressed."""
        keys = list(dict.fromkeys(keys))
        with self._wake:
            new = [key for key in keys if key not in self._held]
            self._held = [*(key for key in self._held if key in keys), *new]
            self._presses.extend(new)
            self._heard = time.monotonic()
            self._lost = None
            if new:
                self._wake.notify_all()

    def press(self, key: str) -> None:
        """A key went down, and may be up again already."""
        with self._wake:
            self._presses.append(key)
            self._wake.notify_all()

    def lose(self, why: str) -> None:
        """The keyboard is gone: the window lost its focus, or the page was closed."""
        with self._wake:
            self._held, self._lost = [], why
            self._presses.clear()
            self._commands.append(Command("lost", why))  # noticed even if keys come again at once
            self._wake.notify_all()

    def ask(self, name: str, value: Any = None) -> None:
        """Do something at the next opportunity."""
        with self._wake:
            self._commands.append(Command(name, value))
            self._wake.notify_all()

    def commands(self) -> list[Command]:
        """What was asked for since the last call."""
        with self._wake:
            asked = list(self._commands)
            self._commands.clear()
            return asked

    def held(self) -> list[str]:
        """Keys that are down; pressed and released again since the last call counts too."""
        with self._wake:
            brief = [key for key in self._presses if key not in self._held]
            self._presses.clear()
            return [*self._held, *brief]

    def pressed(self) -> str | None:
        """The next key that was pressed, for games that wait for one."""
        with self._wake:
            return self._presses.popleft() if self._presses else None

    def touched(self, keys: set[str]) -> bool:
        """Whether one of these keys is down or was pressed since anybody asked."""
        with self._wake:
            return bool(keys & {*self._held, *self._presses})

    def renew(self) -> None:
        """Start the lease now: a game that continues has not been silent yet."""
        with self._wake:
            self._heard, self._lost = time.monotonic(), None

    def forget(self) -> None:
        """Drop what was pressed before now."""
        with self._wake:
            self._presses.clear()

    def silent(self) -> str | None:
        """Why the keys are not to be relied on; None if they are."""
        with self._wake:
            if self._lost is not None:
                return self._lost
            if self._lease is not None and time.monotonic() - self._heard > self._lease:
                return "the keyboard is not heard from"
            return None

    def wait(self, seconds: float) -> None:
        """Until something is pressed or asked for, at most so long."""
        with self._wake:
            if not self._commands and seconds > 0:
                self._wake.wait(seconds)
