"""What a source of remote rollouts needs of the processes that collect for it, wherever they run.

A process answers messages in the order they were sent. Messages and answers are JSON values and arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

Arrays = dict[str, np.ndarray]


class Answer(NamedTuple):
    data: dict[str, Any]
    arrays: Arrays


class ActorLost(Exception):
    """A process died, or its machine did; says how."""


class Fleet(Protocol):
    """Actor processes, by number. None is started before `start`."""

    kind: str  # local or ray

    def room(self) -> int:
        """How many more processes can be started now."""

    def start(self) -> int:
        """Start a process; its number. Whether it came up, its first answer says."""

    def stop(self, process: int) -> None:
        """End a process, which may be gone already."""

    def share(self, arrays: Arrays) -> Any:
        """Put arrays where all processes can read them, once."""

    def submit(self, process: int, message: dict[str, Any], arrays: Arrays, shared: Any = None) -> Any:
        """Send a message; a ticket for its answer."""

    def wait(self, tickets: list[Any], seconds: float) -> list[Any]:
        """Those that have an answer, or never will, after at most so many seconds."""

    def result(self, ticket: Any) -> Answer:
        """Wait for an answer; ActorLost if there will be none."""

    def close(self) -> None:
        """End all processes."""
