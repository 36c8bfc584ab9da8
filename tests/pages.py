"""Real servers on loopback for tests of pages, and clients that talk to them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from websockets.sync.client import ClientConnection, connect

from gymnast.web.server import PageServer


@contextmanager
def serving(server: PageServer) -> Iterator[PageServer]:
    """The server at work in a thread, until the block ends."""
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield server
    finally:
        server.stop()
        thread.join(60)
    assert not thread.is_alive()


def wait_until(holds: Any, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def client_of(server: PageServer, token: str | None = "") -> httpx2.Client:
    """A client with the server's token, another, or none."""
    token = server.access.token if token == "" else token
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.Client(base_url=server.address, headers=headers, timeout=60)


@contextmanager
def socket_of(
    server: PageServer, path: str, token: str | None = "", **options: Any
) -> Iterator[ClientConnection]:
    """A WebSocket that has sent the server's token, another, or nothing yet."""
    with connect(f"ws://127.0.0.1:{server.port}{path}", open_timeout=60, **options) as opened:
        if token is not None:
            opened.send(json.dumps({"token": server.access.token if token == "" else token}))
        yield opened


def raw(server: Any, *lines: str, body: bytes = b"") -> tuple[int, bytes]:
    """An HTTP request as it is written, which no client would send: status and everything received."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as sock:
        sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        data = b""
        while chunk := sock.recv(65536):
            data += chunk
            if b"\r\n\r\n" in data and b"connection: close" not in data.lower() and _is_whole(data):
                break
    return (int(data.split(b" ", 2)[1]) if data else 0), data


def _is_whole(data: bytes) -> bool:
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return not lengths or len(body) >= int(lengths[0].split(b":")[1])
