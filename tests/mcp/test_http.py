"""The server over HTTP: this machine alone, and only with the token."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from mcp_clients import answer, environment

TOKEN = "a-token-that-is-long-enough"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@contextmanager
def served(runs_dir: Path, token: str | None = TOKEN) -> Iterator[tuple[str, str]]:
    """(the address, what it printed besides)."""
    env = environment()
    env.pop("GYMNAST_MCP_TOKEN", None)
    if token is not None:
        env["GYMNAST_MCP_TOKEN"] = token
    words = ["-P", "-m", "gymnast", "mcp", "--http", "--port", "0", "--runs-dir", str(runs_dir)]
    process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, env=env, text=True)
    assert process.stderr is not None
    try:
        first, second = process.stderr.readline(), process.stderr.readline()
        yield first.removeprefix("serving on ").strip(), second.strip()
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("http")) as (url, said):
        assert TOKEN not in said
        yield url


@asynccontextmanager
async def authorised(url: str, token: str) -> AsyncIterator[Client]:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        yield client


async def names(url: str, token: str) -> list[str]:
    async with authorised(url, token) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


def test_with_the_token(address: str) -> None:
    assert "start_training" in anyio.run(names, address, TOKEN)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "localhost.evil.example:80"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_everything_else_is_refused(address: str, headers: dict[str, str], status: int, method: str) -> None:
    answered = httpx2.request(method, address, headers={**ACCEPT, **headers}, json=CALL)
    assert answered.status_code == status
    assert "tools" not in answered.text
    assert TOKEN not in answered.text
    assert (status == 401) == (answered.headers.get("www-authenticate") == "Bearer")


def test_no_other_path_answers_without_the_token(address: str) -> None:
    root = address.removesuffix("/mcp")
    for path in ("/", "/docs", "/.well-known/oauth-protected-resource", "/mcp/"):
        assert httpx2.get(root + path).status_code == 401


def test_two_clients_at_once(address: str) -> None:
    async def session() -> None:
        async def use(found: list[Any]) -> None:
            async with authorised(address, TOKEN) as client:
                for _ in range(5):
                    found.append(answer(await client.call_tool("look_up", {"query": "entropy"})))

        answers: tuple[list[Any], list[Any]] = ([], [])
        async with anyio.create_task_group() as both:
            for own in answers:
                both.start_soon(use, own)
        assert answers[0] == answers[1]
        assert len(answers[0]) == 5

    anyio.run(session)


def test_a_token_is_made_and_printed_once(tmp_path: Path) -> None:
    with served(tmp_path, token=None) as (url, said):
        word, _, token = said.partition(" ")
        assert word == "token"
        assert len(token) >= 32
        assert "evaluate" in anyio.run(names, url, token)


def test_it_is_not_reached_from_outside(address: str) -> None:
    """It listens on the loopback address alone."""
    import socket

    port = int(address.removesuffix("/mcp").rpartition(":")[2])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for other in others - {"127.0.0.1"}:
        if not str(other).startswith("127."):
            with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
                socket.create_connection((str(other), port), timeout=2).close()


@pytest.mark.parametrize("token", ["short", "with a space in the token", "ümläut-ümläut-ümläut"])
def test_a_weak_token_is_refused(tmp_path: Path, token: str) -> None:
    words = [sys.executable, "-P", "-m", "gymnast", "mcp", "--http", "--port", "0"]
    env = {**environment(), "GYMNAST_MCP_TOKEN": token}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=110, check=False)
    assert done.returncode == 2
    assert "at least 16" in done.stderr
    assert token not in done.stderr


def test_a_port_that_is_taken(address: str) -> None:
    port = address.removesuffix("/mcp").rpartition(":")[2]
    words = [sys.executable, "-P", "-m", "gymnast", "mcp", "--http", "--port", port]
    env = {**environment(), "GYMNAST_MCP_TOKEN": TOKEN}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=110, check=False)
    assert done.returncode == 2
    assert f"port {port} cannot be used" in done.stderr
