"""Who is at the page: one holds the controls, the others watch; everybody sees the newest picture."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket

from gymnast.play.controls import Controls
from gymnast.play.keyboard import BY_CODE
from gymnast.web.guard import receive_object
from gymnast.web.security import Refused

_COMMANDS = frozenset(
    ("pause", "step", "restart", "take_over", "driver", "speed", "slower", "faster", "quit")
)
_NOBODY = "nobody is watching"
_MOST_KEYS = 32


class Visitor:
    """One tab of a browser. What it has no time to show is left out, and not sent late."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self._news = asyncio.Event()
        self._frame: bytes | None = None
        self._texts: list[dict[str, Any]] = []

    def show(self, frame: bytes) -> None:
        self._frame = frame
        self._news.set()

    def say(self, what: dict[str, Any]) -> None:
        self._texts.append(what)
        self._news.set()

    async def send_news(self) -> None:
        """Until the tab is closed."""
        while True:
            await self._news.wait()
            self._news.clear()
            texts, self._texts = self._texts, []
            for text in texts:
                await self.socket.send_json(text)
            frame, self._frame = self._frame, None
            if frame is not None:
                await self.socket.send_bytes(frame)


class Room:
    """The visitors, and the controls that one of them holds. Lives in the server's thread."""

    def __init__(self, controls: Controls, hello: dict[str, Any]) -> None:
        self._controls, self._hello = controls, hello
        self._visitors: list[Visitor] = []
        self._holder: Visitor | None = None
        self._frame: bytes | None = None
        self.empty_since: float | None = None  # None: somebody is here, or nobody was yet
        self.opened = threading.Event()  # once the first has come

    @property
    def count(self) -> int:
        return len(self._visitors)

    def publish(self, frame: bytes) -> None:
        """Show everybody the newest moment."""
        self._frame = frame
        for visitor in self._visitors:
            visitor.show(frame)

    async def welcome(self, socket: WebSocket) -> None:
        """A tab that has been admitted, until it is closed."""
        visitor = Visitor(socket)
        self._visitors.append(visitor)
        self.empty_since = None
        self.opened.set()
        self._controls.ask("release", _NOBODY)
        if self._holder is None:
            self._holder = visitor
        visitor.say({"hello": self._hello})
        self._tell_roles()
        if self._frame is not None:
            visitor.show(self._frame)
        sending = asyncio.create_task(visitor.send_news())
        try:
            while True:
                self._hear(visitor, await receive_object(socket))
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await sending
            self._leave(visitor)

    def _leave(self, visitor: Visitor) -> None:
        self._visitors.remove(visitor)
        if not self._visitors:
            self.empty_since = time.monotonic()
            self._controls.ask("hold", _NOBODY)
        if self._holder is visitor:
            self._holder = None
            self._controls.lose("the page that had the controls was closed")
            self._tell_roles()

    def _tell_roles(self) -> None:
        for visitor in self._visitors:
            role = "control" if visitor is self._holder else "watch" if self._holder else "free"
            visitor.say({"role": role, "visitors": len(self._visitors)})

    def _hear(self, visitor: Visitor, said: dict[str, Any]) -> None:
        if said.get("claim"):
            if self._holder is None:
                self._holder = visitor
            self._tell_roles()
            return
        if visitor is not self._holder:
            visitor.say({"notice": "another tab has the controls: this one watches"})
            return
        if "keys" in said:
            self._controls.hold(_key_names(said["keys"]))
        elif "lost" in said:
            self._controls.lose("the page lost the keyboard")
        elif said.get("do") in _COMMANDS:
            self._controls.ask(said["do"], _plain_value(said.get("value")))
        else:
            raise Refused(400, "a message has keys, lost, claim or do")


def _key_names(codes: Any) -> list[str]:
    if not isinstance(codes, list) or len(codes) > _MOST_KEYS or not all(isinstance(c, str) for c in codes):
        raise Refused(400, "keys are a list of codes")
    return [BY_CODE[code] for code in codes if code in BY_CODE]


def _plain_value(value: Any) -> Any:
    if value is not None and (type(value) not in (str, int, float) or len(str(value)) > 40):
        raise Refused(400, "that is not a value for a command")
    return value
