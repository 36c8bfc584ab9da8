"""What parts say through the `gymnast` logger, such as an old env id or a lost process, and who hears it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def passed_on(*listeners: Callable[[str], None]) -> Iterator[None]:
    """Hand each message to these listeners instead of those around them."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            for listen in listeners:
                listen(record.getMessage())

    logger = logging.getLogger("gymnast")
    before, propagated = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [Listener()], False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before, propagated
