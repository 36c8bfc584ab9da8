"""Starting the inspector and keeping it until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gymnast import api
from gymnast.errors import MissingExtra

if TYPE_CHECKING:
    from gymnast.web.server import PageServer


def build_server(
    runs_dir: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    password: str | None = None,
    trust: bool = False,
) -> PageServer:
    """A server that has its port and does not serve yet: `server.serve()` does, until Ctrl-C."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra("the inspector", "inspect") from error
    from gymnast.inspect.app import build_inspector
    from gymnast.web.security import access_for
    from gymnast.web.server import PageServer

    access = access_for(host, password)
    folder = api.runs_folder(runs_dir)
    return PageServer(build_inspector(folder, access, trust=trust), access, host=host, port=port)


def inspect_runs(
    run: str | None = None,
    *,
    runs_dir: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    password: str | None = None,
    trust: bool = False,
    browser: bool = True,
) -> None:
    """Serve the page until Ctrl-C; `run` is the one that it opens with."""
    from gymnast.web.server import announce, open_browser_soon

    chosen = None
    if run is not None:
        folder = api.find_run(run, runs_dir=runs_dir)
        # A run elsewhere, named by its path, is looked at where it lies.
        chosen, runs_dir = folder.id, folder.root
    server = build_server(runs_dir, host=host, port=port, password=password, trust=trust)
    url = announce(server, "inspector", f"?run={chosen}" if chosen else "")
    if browser:
        open_browser_soon(server, url)
    server.serve()
