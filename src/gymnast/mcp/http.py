"""The server over HTTP: on this machine alone, for whoever has the token."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
from typing import Any

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from gymnast.errors import GymnastError

HOST = "127.0.0.1"
TOKEN_VARIABLE = "GYMNAST_MCP_TOKEN"
_SHORTEST_TOKEN = 16
_NAMES = ("127.0.0.1", "localhost", "[::1]")


def read_token() -> tuple[str, bool]:
    """(the token of the environment, False), or (a new one, True). Trainings do not inherit it."""
    given = os.environ.pop(TOKEN_VARIABLE, "")
    if not given:
        return secrets.token_urlsafe(32), True
    if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable() or " " in given:
        raise GymnastError(
            f"{TOKEN_VARIABLE} must have at least {_SHORTEST_TOKEN} plain characters without spaces"
        )
    return given, False


class TokenRequired:
    """Lets nothing through but requests to this machine's own names that carry the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in _NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            status, problem = self._check(Headers(scope=scope))
            if problem:
                await _refuse(send, status, problem)
            else:
                await self._app(scope, receive, send)
        else:  # there are no WebSockets here
            await send({"type": "websocket.close", "code": 1008})

    def _check(self, headers: Headers) -> tuple[int, str]:
        if headers.get("host", "") not in self._hosts:
            return 421, "this server answers to 127.0.0.1 and localhost alone"
        if (origin := headers.get("origin")) is not None and origin not in self._origins:
            return 403, "requests from other sites are refused"
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.encode(), self._token.encode()):
            return 401, "the header 'Authorization: Bearer TOKEN' is missing or wrong"
        return 200, ""


async def _refuse(send: Send, status: int, problem: str) -> None:
    body = json.dumps({"error": problem}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def listen(port: int) -> socket.socket:
    """A socket on this machine's own address; port 0 takes any that is free."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise GymnastError(
            f"port {port} cannot be used: {error.strerror}; --port 0 takes a free one"
        ) from None
    return listening


def build_app(server: MCPServer[Any], token: str, port: int) -> ASGIApp:
    """The application behind the token."""
    hosts = [f"{name}:{port}" for name in _NAMES]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    return TokenRequired(server.streamable_http_app(host=HOST, transport_security=security), token, port)


def serve(server: MCPServer[Any], token: str, listening: socket.socket) -> None:
    """Serve until the process is interrupted."""
    import uvicorn

    app = build_app(server, token, listening.getsockname()[1])
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])
