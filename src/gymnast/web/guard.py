"""The one guard around every handler: HTTP by wrapping the whole application, WebSockets one by one.

HTTP: `Guarded` lets nothing under /api/ through without the token. WebSockets: Starlette's middleware does
not refuse them, so `socket_route` is the only way that routes for them are made, and its first act is
`admit`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from gymnast.errors import GymnastError
from gymnast.web.security import HEADERS, Access, Refused

MOST_BODY = 256 << 10  # bytes of a request, and of a message to a WebSocket
_TOKEN_SECONDS = 5.0
_MOST_PATH = 4096
_OPEN_PATHS = ("/api/login",)
REFUSED_CODE, UNKNOWN_CODE, MALFORMED_CODE = 4403, 4401, 4400  # with which a WebSocket is closed

SocketHandler = Callable[[WebSocket], Awaitable[None]]


class Guarded:
    """An application behind the guard: checked requests, bounded bodies, headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access, most_body: int = MOST_BODY) -> None:
        self.app, self.access, self.most_body = app, access, most_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)  # lifespan; a WebSocket's own route admits it
            return
        send = _with_headers(send, scope["path"])
        try:
            self._check(HTTPConnection(scope))
            await self.app(scope, _bounded(receive, self.most_body), send)
        except Refused as refused:
            await answer_error(refused)(scope, receive, send)

    def _check(self, connection: HTTPConnection) -> None:
        path = connection.scope["path"]
        self.access.check_origin(connection)
        if len(connection.scope.get("raw_path") or b"") > _MOST_PATH or "\0" in path:
            raise Refused(400, "that is not a path of this server")
        if path.startswith("/api/") and path not in _OPEN_PATHS:
            self.access.check_request(connection)
        length = connection.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > self.most_body:
            raise Refused(413, f"a request has at most {self.most_body:,} bytes")


def _with_headers(send: Send, path: str) -> Send:
    # Data is never kept by the browser; scripts and styles are asked for again, and sent if they changed.
    cache = "no-cache" if not path.startswith("/api/") else "no-store"
    own = [(name.encode(), value.encode()) for name, value in (HEADERS | {"cache-control": cache}).items()]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in own}
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return send_with_headers


def _bounded(receive: Receive, most: int) -> Receive:
    """A body without a length is counted as it comes."""
    got = 0

    async def bounded() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            raise Refused(413, f"a request has at most {most:,} bytes")
        return message

    return bounded


def answer_error(error: GymnastError) -> JSONResponse:
    """One sentence as JSON, with the status that fits."""
    status = error.status if isinstance(error, Refused) else 400
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": str(error)}, status, headers)


async def _on_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, GymnastError)
    return answer_error(error)


async def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    texts = {404: "there is nothing at this address", 405: "that is not done at this address"}
    return JSONResponse({"error": texts.get(error.status_code, error.detail)}, error.status_code)


async def _on_fault(request: Request, error: Exception) -> JSONResponse:
    from gymnast.errors import described

    return JSONResponse({"error": f"the server failed: {described(error)}"}, 500)


# For Starlette(exception_handlers=…): every error is one sentence as JSON.
ERROR_HANDLERS: dict[Any, Any] = {
    GymnastError: _on_error,
    HTTPException: _on_http_error,
    Exception: _on_fault,
}


async def read_json_object(request: Request) -> dict[str, Any]:
    """The body of a request; Refused unless it is a JSON object."""
    return parse_object(await request.body())


def parse_object(data: bytes | str) -> dict[str, Any]:
    """A JSON object from anywhere; Refused for anything else."""
    from gymnast.runs.files import parse_json

    try:
        value = parse_json(data)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the request is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused(400, "the request is not a JSON object")
    return value


async def admit(access: Access, socket: WebSocket) -> bool:
    """Accept a WebSocket whose first message has the token; False: it is closed already."""
    try:
        access.check_origin(socket)
    except Refused:
        await socket.close(REFUSED_CODE)  # before it is accepted: the answer is HTTP 403
        return False
    await socket.accept()
    try:
        first = await asyncio.wait_for(socket.receive(), _TOKEN_SECONDS)
        if first["type"] == "websocket.disconnect":
            return False
        text = first.get("text")
        said = json.loads(text) if isinstance(text, str) and len(text) < 1000 else None
        access.check_token(said.get("token") if isinstance(said, dict) else None)
    except (Refused, ValueError, RecursionError, TimeoutError):
        await socket.close(UNKNOWN_CODE, "the first message must have the token")
        return False
    return True


def socket_route(path: str, access: Access, handler: SocketHandler) -> WebSocketRoute:
    """A route for WebSockets that have been admitted; the client may leave at any time."""

    async def guarded(socket: WebSocket) -> None:
        try:
            if await admit(access, socket):
                await handler(socket)
        except (WebSocketDisconnect, RuntimeError) as gone:
            # Starlette raises RuntimeError where we send after the other side has left.
            if isinstance(gone, RuntimeError) and "websocket" not in str(gone).lower():
                raise
        except GymnastError as error:
            await socket.close(MALFORMED_CODE, str(error)[:100])

    guarded.is_guarded = True  # type: ignore[attr-defined]  # a test looks for it on every route
    return WebSocketRoute(path, guarded)


async def receive_object(socket: WebSocket) -> dict[str, Any]:
    """The next message; Refused unless it is a JSON object in text."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    text = message.get("text")
    if not isinstance(text, str):
        raise Refused(400, "a message is JSON text")
    return parse_object(text)


async def log_in(request: Request) -> JSONResponse:
    """POST /api/login {"password": …} → {"token": …}; GET: whether there is a password."""
    access: Access = request.app.state.access
    if request.method == "GET":
        return JSONResponse({"password": access.password is not None})
    said = await read_json_object(request)
    address = request.client.host if request.client is not None else ""
    return JSONResponse({"token": access.log_in(said.get("password"), address)})
