"""`gymnast mcp`: let an assistant train and evaluate agents, over the Model Context Protocol."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gymnast.cli.options import ConfigDirs, RunsDir
from gymnast.errors import GymnastError, MissingExtra
from gymnast.terminal.text import echo


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve on this machine's own address instead of stdin and stdout.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="With --http: the port; 8766 if not given, 0 for any."),
    ] = None,
    runs_dir: RunsDir = None,
    config_dir: ConfigDirs = None,
    max_running: Annotated[
        int, typer.Option(min=1, max=64, help="How many trainings there may be at a time.")
    ] = 4,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Let the assistant name code to import and files to read. It can run anything."
        ),
    ] = False,
    allow_publish: Annotated[
        bool, typer.Option("--allow-publish", help="Let the assistant publish runs without asking.")
    ] = False,
) -> None:
    """Serve runs to an assistant: it finds environments, trains, watches, diagnoses, evaluates and compares.

    An assistant's program starts this command itself and talks to it over stdin and stdout. With --http it
    listens on 127.0.0.1 and wants a token: that of GYMNAST_MCP_TOKEN, else a new one, which is printed once.
    Trainings that it starts outlive it.

    \b
    Examples:
      claude mcp add gymnast -- gymnast mcp --runs-dir /path/to/runs
      gymnast mcp --http --port 8766
    """
    if find_spec("mcp") is None:
        raise MissingExtra("gymnast mcp", "mcp")
    if port is not None and not http:
        raise GymnastError("--port is for --http: give both")

    from gymnast.mcp.server import build_server
    from gymnast.mcp.serving import Serving

    serving = Serving(
        runs_dir=_settled(runs_dir),
        config_dirs=tuple(config_dir or ()),
        trust=trust,
        allow_publish=allow_publish,
        most_running=max_running,
    )
    server = build_server(serving)
    if not http:
        if sys.stdin.isatty():  # someone tries it by hand
            echo("waiting for a client on stdin; docs/mcp.md says how to set one up, Ctrl-C ends", err=True)
        server.run("stdio")
        return

    from gymnast.mcp.http import HOST, TOKEN_VARIABLE, listen, read_token, serve

    token, is_new = read_token()
    listening = listen(8766 if port is None else port)
    echo(f"serving on http://{HOST}:{listening.getsockname()[1]}/mcp", err=True)
    echo(f"token {token}" if is_new else f"token: that of {TOKEN_VARIABLE}", err=True)
    serve(server, token, listening)


def _settled(runs_dir: Path | None) -> Path | None:
    """The same folder wherever this process may go."""
    return None if runs_dir is None else runs_dir.expanduser().absolute()
