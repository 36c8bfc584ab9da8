"""Which process a number means: numbers are given out again, so that a number alone proves nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process for good: its number, when the kernel started it, and where that number counts."""

    pid: int
    started: int | None = None  # clock ticks since boot; None where the system does not tell
    machine: str | None = None  # this boot of this machine, and its space of process numbers

    def is_dead(self) -> bool:
        """Whether this very process has certainly ended; False where that cannot be known from here."""
        if self.started is None or self.machine is None or self.machine != _machine():
            return False
        return _started(self.pid) != self.started


def own_identity() -> ProcessIdentity:
    return ProcessIdentity(os.getpid(), _started(os.getpid()), _machine())


def _machine() -> str | None:
    with suppress(OSError):
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    return None


def _started(pid: int) -> int | None:
    """When a process started; None if there is none, or one that has ended and waits to be noticed."""
    with suppress(OSError, ValueError, IndexError):
        # The name in parentheses may hold anything, blanks and parentheses included.
        state, *rest = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else int(rest[18])
    return None
