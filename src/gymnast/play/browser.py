"""Playing in the browser: the game runs in a thread, pictures go out and keys come in over a WebSocket."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast.play.live_picture import encode_live
from gymnast.play.loop import GameLoop
from gymnast.play.room import Room
from gymnast.play.shown import about_game, moment_of
from gymnast.play.sitting import Sitting
from gymnast.traces.png import encode_png
from gymnast.web.assets import SHARED, Assets
from gymnast.web.guard import ERROR_HANDLERS, Guarded, log_in, socket_route
from gymnast.web.security import Access, Refused
from gymnast.web.server import PageServer
from gymnast.web.wire import pack

PAGE = Path(__file__).parent / "static"
LINGER_SECONDS = 10.0  # a page that is loaded again comes back sooner


class BrowserPlay:
    """A sitting in the browser. `serve` returns when it is over, whichever way."""

    def __init__(
        self,
        sitting: Sitting,
        access: Access,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        linger: float = LINGER_SECONDS,
    ) -> None:
        self._sitting, self._controls, self._linger = sitting, sitting.controls, linger
        self._room = Room(sitting.controls, about_game(sitting.game))
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._play, name="game", daemon=True)
        self._picture: np.ndarray | None = None
        self._events: asyncio.AbstractEventLoop | None = None
        app = Starlette(
            routes=[
                Route("/api/screenshot", self._screenshot),
                Route("/api/login", log_in, methods=["GET", "POST"]),
                socket_route("/api/play", access, self._room.welcome),
                Assets({"/": PAGE, "/web/": SHARED}).route(),
            ],
            exception_handlers=ERROR_HANDLERS,
            lifespan=self._lifespan,
        )
        app.state.access = access
        self.server = PageServer(Guarded(app, access), access, host=host, port=port)

    def serve(self) -> None:
        """Until the game is over, the last tab is closed, or Ctrl-C."""
        self.server.serve()
        self._end("the server was stopped")  # in case it never started
        if self._failure is not None:
            raise self._failure

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self._events = asyncio.get_running_loop()
        self._thread.start()
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            # Here, and not after the server has ended: it passes a signal on as soon as it has.
            watching.cancel()
            await asyncio.to_thread(self._end, "the server was stopped")

    def _end(self, why: str) -> None:
        self._controls.ask("quit", why)
        self._room.opened.set()
        if self._thread.ident is not None:
            self._thread.join()

    async def _watch(self) -> None:
        """End the game once everybody has left for good."""
        while True:
            await asyncio.sleep(0.1)
            left = self._room.empty_since
            if left is not None and time.monotonic() - left > self._linger:
                self._controls.ask("quit", "the page was closed")

    def _play(self) -> None:
        try:
            with self._sitting.game.threads():
                loop = self._sitting.begin()
                self._publish(loop)
                self._room.opened.wait()  # nothing is played before somebody sees it
                self._run(loop)
        except BaseException as error:
            self._failure = error
        try:
            self._sitting.end()
        except BaseException as error:
            self._failure = self._failure or error
        time.sleep(0.2)  # for the last picture to reach the page
        self.server.stop()

    def _run(self, loop: GameLoop) -> None:
        shown = -1
        while True:
            wait = loop.tick()
            if loop.version != shown:
                shown = loop.version
                self._publish(loop)
            if loop.ended is not None:
                return
            loop.controls.wait(wait)

    def _publish(self, loop: GameLoop) -> None:
        picture = self._picture = loop.session.moment.picture
        assert picture is not None
        assert self._events is not None
        meta = {**moment_of(loop), "size": [picture.shape[1], picture.shape[0]]}
        encoded, mime = encode_live(picture)
        data = pack(meta, {}, frames=[encoded], mime=mime)
        self._events.call_soon_threadsafe(self._room.publish, data)

    async def _screenshot(self, request: Request) -> Response:
        """The picture as the game drew it, without loss."""
        if self._picture is None:
            raise Refused(404, "there is no picture yet")
        return Response(encode_png(self._picture), media_type="image/png")
