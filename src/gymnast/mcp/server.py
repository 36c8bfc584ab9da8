"""The server: its tools, resources and prompts put together."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer

from gymnast import __version__
from gymnast.mcp.completions import add_completions
from gymnast.mcp.instructions import INSTRUCTIONS
from gymnast.mcp.prompts import Prompts
from gymnast.mcp.resources import add_resources
from gymnast.mcp.serving import Serving
from gymnast.mcp.starts import Starts
from gymnast.mcp.tool import tools_of
from gymnast.mcp.tools.configs import ConfigTools
from gymnast.mcp.tools.finding import FindingTools
from gymnast.mcp.tools.health import HealthTools
from gymnast.mcp.tools.measuring import MeasuringTools
from gymnast.mcp.tools.playing import PlayingTools
from gymnast.mcp.tools.runs import RunTools
from gymnast.mcp.tools.sharing import SharingTools, TrustedSharingTools
from gymnast.mcp.tools.sweeping import SweepTools
from gymnast.mcp.tools.training import TrainingTools
from gymnast.mcp.tools.watching import WatchingTools


def build_server(serving: Serving) -> MCPServer[Any]:
    """A server over one runs folder; `run()` serves it."""
    starts = Starts(serving)
    groups = (
        FindingTools(serving),
        ConfigTools(serving),
        TrainingTools(serving, starts),
        WatchingTools(serving, starts),
        SweepTools(serving),
        RunTools(serving),
        MeasuringTools(serving),
        HealthTools(serving),
        PlayingTools(serving),
        (TrustedSharingTools if serving.allow_publish else SharingTools)(serving),
    )
    server: MCPServer[Any] = MCPServer(
        "gymnast",
        title="Gymnast",
        instructions=INSTRUCTIONS,
        version=__version__,
        tools=list(tools_of(*groups)),
        log_level="WARNING",
        subscriptions=False,
    )
    add_resources(server, serving)
    add_completions(server, serving)
    for prompt in Prompts(serving).all():
        server.add_prompt(prompt)
    return server
