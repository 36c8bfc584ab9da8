"""What may complete an argument of a prompt or resource that a user has begun to type."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp_types import Completion

from gymnast import api
from gymnast.mcp.resources import page_names
from gymnast.mcp.serving import Serving

_MOST = 50


def add_completions(server: MCPServer[Any], serving: Serving) -> None:
    """Runs of the runs folder, and pages of the documentation."""

    async def complete(reference: Any, argument: Any, context: Any) -> Completion | None:
        found: list[str] = []
        if argument.name == "run" and "/" not in argument.value:
            found = await anyio.to_thread.run_sync(
                lambda: api.complete_run(argument.value, runs_dir=serving.runs_dir)
            )
        elif argument.name == "page":
            found = [name for name in page_names() if name.startswith(argument.value)]
        return Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)

    server.completion()(complete)
