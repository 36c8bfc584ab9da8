"""What parts report through the `gymnast` logger, such as an old env id or a lost process, and who hears it.

Several trainings may live in one process: each hears what is reported in its own context, that is by its own
thread and by those to which it hands its context (`contextvars.copy_context().run`). What is reported
elsewhere takes the logger's usual way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]

_listeners: ContextVar[tuple[Listener, ...] | None] = ContextVar("gymnast_listeners", default=None)
_lock = threading.Lock()
_users = 0


def _hand_over(record: logging.LogRecord) -> bool:
    """As a filter of the logger: whether a record takes the usual way, to handlers and parent loggers."""
    listeners = _listeners.get()
    if listeners is None:
        return True
    for listen in listeners:
        listen(record.getMessage())
    return False


@contextmanager
def passed_on(*listeners: Listener) -> Iterator[None]:
    """Hand each message of this context to these listeners, instead of those around them."""
    _begin()
    before = _listeners.set(listeners)
    try:
        yield
    finally:
        _listeners.reset(before)
        _end()


def _begin() -> None:
    global _users  # noqa: PLW0603  - one logger in the process, one count of who uses it
    with _lock:
        _users += 1
        if _users == 1:
            logging.getLogger("gymnast").addFilter(_hand_over)


def _end() -> None:
    global _users  # noqa: PLW0603
    with _lock:
        _users -= 1
        if _users == 0:
            logging.getLogger("gymnast").removeFilter(_hand_over)
