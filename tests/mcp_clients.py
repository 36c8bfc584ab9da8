"""Clients of the MCP server for tests: in memory, and over a real process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio
from mcp.types import CallToolResult

import gymnast
from gymnast.mcp.server import build_server
from gymnast.mcp.serving import Serving
from mcp import Client, StdioServerParameters

MOST_OF_AN_ANSWER = 20_000  # characters, by default; about 5,000 tokens
NEVER_SOLVED: dict[str, Any] = {"stop.eval_return": None, "eval.every": 50_000}  # settings of a long training
SOURCE = str(Path(gymnast.__file__).parent.parent)


class Failed(Exception):
    """A tool answered with an error; its text is the message."""


def answer(result: CallToolResult) -> dict[str, Any]:
    text = result.content[0].text  # type: ignore[union-attr]
    if result.is_error:
        raise Failed(text)
    assert result.structured_content is not None
    return result.structured_content


def call(serving: Serving, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """One call of one tool, through the in-memory client."""

    async def session(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    result = in_memory(serving, session)
    if arguments.get("detail") != "full" and arguments.get("limit", 0) < 100:
        shown = "".join(block.text for block in result.content if block.type == "text")
        assert len(shown) < MOST_OF_AN_ANSWER, (tool, arguments, len(shown))  # of errors, too
    return answer(result)


def begun(serving: Serving, started: dict[str, Any], seconds: float = 100) -> dict[str, Any]:
    """The run of a start, as soon as it has one."""
    until = time.monotonic() + seconds
    now = call(serving, "watch_run", run=started["run"], wait_seconds=0)
    while now["state"] == "starting" and time.monotonic() < until:
        now = call(serving, "watch_run", run=now["run"], wait_seconds=20)
    return now


def finished(serving: Serving, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """What came of the job that a tool starts. A busy machine takes longer than one call may wait."""
    job, until = call(serving, tool, **arguments), time.monotonic() + 200
    while job["state"] == "working" and time.monotonic() < until:
        job = call(serving, "watch_job", job=job["job"], wait_seconds=45)
    return job


# One server for all clients of a test, as in a real process.
_server = lru_cache(maxsize=64)(build_server)


def in_memory(serving: Serving, session: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with Client(_server(serving), **options) as client:
            return await session(client)

    return anyio.run(run)


def environment() -> dict[str, str]:
    """As this process has it, with our own code first."""
    return {**os.environ, "PYTHONPATH": SOURCE}


def server_process(runs_dir: Path, *options: str) -> StdioServerParameters:
    words = ["-P", "-m", "gymnast", "mcp", "--runs-dir", str(runs_dir), *options]
    return StdioServerParameters(command=sys.executable, args=words, env=environment())
