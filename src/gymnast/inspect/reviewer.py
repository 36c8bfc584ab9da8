"""The process behind a review, seen from the server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from gymnast.errors import GymnastError
from gymnast.inspect.context import in_thread
from gymnast.processes.messages import has_arrived, receive, send
from gymnast.processes.start import start_child

_LOOK_SECONDS = 0.2  # at most so long after it is not wanted any more, it ends


class Reviewer:
    """One process for one order."""

    def __init__(self, order: dict[str, Any]) -> None:
        theirs_in, orders = os.pipe()
        self._answers, theirs_out = os.pipe()
        try:
            self._child = start_child(
                "gymnast.inspect.reviewer_process:main",
                (theirs_in, theirs_out),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            send(orders, order)
        except BaseException:
            os.close(self._answers)
            raise
        finally:
            for descriptor in (theirs_in, theirs_out, orders):
                os.close(descriptor)

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """As they come; an empty one while there is none. GymnastError if it fails."""
        while True:
            message = await in_thread(self._next)
            if "error" in message:
                raise GymnastError(str(message["error"]))
            yield message
            if "review" in message or "start" in message:
                return

    async def answer(self) -> dict[str, Any]:
        """The last message; then it has ended, also if nobody waits any more."""
        try:
            return [message async for message in self.messages()][-1]
        finally:
            self.end()

    def _next(self) -> dict[str, Any]:
        if not has_arrived(self._answers, _LOOK_SECONDS):
            return {}
        try:
            message = receive(self._answers)
        except (EOFError, OSError, ValueError):
            raise GymnastError("the process that reviews has ended: ask again") from None
        return message if isinstance(message, dict) else {}

    def end(self) -> None:
        """Kill it, with its connection; of no effect the second time."""
        if self._answers >= 0:
            with suppress(OSError):
                os.close(self._answers)
            self._answers = -1
            self._child.release()
            self._child.kill()
