"""Doors of the player's server that stay shut."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from pages import raw

client = pytest.importorskip("websockets.sync.client")
connect = partial(client.connect, open_timeout=60)

Play = Callable[..., Any]


def test_only_the_page_with_the_token_gets_in(play: Play, runs: Path) -> None:
    playing = play("@last", "--runs-dir", runs)
    parts = urlsplit(playing.url)
    address, token = f"ws://{parts.netloc}/api/play", parts.fragment.removeprefix("token=")
    own = f"http://{parts.netloc}"
    with pytest.raises(websockets_refusal()):
        connect(address, origin="http://evil.example").close()
    with pytest.raises(websockets_refusal()):
        connect(address, origin=own, additional_headers={"Host": "evil.example"}).close()
    for first in ('{"token": "wrong"}', "{}", "not json", '{"do": "pause"}'):
        with connect(address, origin=own) as socket:
            socket.send(first)
            with pytest.raises(Exception, match="4401"):
                socket.recv(timeout=60)
    with connect(address, origin=own) as socket:
        socket.send(json.dumps({"token": token}))
        assert "hello" in json.loads(socket.recv(timeout=60))
        for message in ('{"keys": "all"}', '{"do": "explode"}', "[1]"):
            with connect(address, origin=own) as other:
                other.send(json.dumps({"token": token}))
                other.recv(timeout=60)
                other.send(message)  # a watcher, or malformed: either way nothing happens
                time.sleep(0.1)
        socket.send('{"keys": ["ArrowLeft", 5]}')
        with pytest.raises(Exception, match="4400"):
            while True:
                socket.recv(timeout=60)
    assert playing.finish(signal.SIGINT)[0] == 0


def test_other_requests_reach_nothing(play: Play, runs: Path) -> None:
    playing = play("@last", "--runs-dir", runs)
    parts = urlsplit(playing.url)
    token, own = parts.fragment.removeprefix("token="), f"http://{parts.netloc}"
    tricks = (
        "../",
        "%2e%2e%2f",
        "..%2f..%2f",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "js/../../../player.py",
        "%00",
    )
    bearer = f"Authorization: Bearer {token}"
    for path in (f"{start}{trick}" for start in ("/", "/js/", "/web/") for trick in tricks):
        lines = (f"GET {path} HTTP/1.1", f"Host: {parts.netloc}", bearer, "Connection: close")
        assert raw(SimpleNamespace(port=parts.port), *lines)[0] in (0, 400, 404), path
    with httpx2.Client(base_url=own, headers={"Authorization": f"Bearer {token}"}) as client:
        assert client.get("/").status_code == 200
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": ""}):
            assert client.get("/", headers=headers).status_code in (400, 403)
        assert client.post("/api/login", content=b" " * (1 << 20)).status_code == 413
        assert client.get("/api/screenshot", headers={"Authorization": "Bearer wrong"}).status_code == 401
    with connect(f"ws://{parts.netloc}/api/play", origin=own) as socket:
        socket.send(json.dumps({"token": token}))
        socket.recv(timeout=60)
        socket.send(json.dumps({"keys": ["ArrowLeft"] * 100_000}))
        with pytest.raises(Exception, match="1009"):
            while True:
                socket.recv(timeout=60)
    assert playing.finish(signal.SIGINT)[0] == 0


def websockets_refusal() -> Any:
    from websockets.exceptions import WebSocketException

    return (WebSocketException, TimeoutError, ConnectionError)
