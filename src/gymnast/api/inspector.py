"""The inspector: runs and recorded episodes in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.run import folder_of
from gymnast.errors import GymnastError, MissingExtra

if TYPE_CHECKING:
    from gymnast.recordings.recording import Recording
    from gymnast.web.server import PageServer

__all__ = ["inspect_runs", "inspector_server"]


def inspect_runs(
    run: str | None = None,
    *,
    runs_dir: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    password_env: str | None = None,
    trust: bool = False,
    browser: bool = True,
) -> None:
    """Serve the page until Ctrl-C, and print where it is. `run` is the one that it opens with (of
    `RUN/CHECKPOINT` with that checkpoint chosen), or the folder of a trace, such as `gymnast play --record`
    writes it.

    Other machines reach it only with a `host` of theirs and a password, which an environment variable has:
    `password_env` names it. `trust` lets recordings import the code that runs made elsewhere name.
    """
    _require()
    from gymnast.recordings.opened import is_trace, open_trace
    from gymnast.runs.references import parse_reference, resolve
    from gymnast.web.server import announce, open_browser_soon, read_password

    chosen, trace = "", None
    if run is not None and is_trace(Path(run).expanduser()):
        trace = open_trace(Path(run).expanduser())
    elif run is not None:
        name, checkpoint = parse_reference(run)
        folder = folder_of(name, runs_dir)
        chosen = f"run={folder.id}"
        if checkpoint is not None:
            chosen += f"&checkpoint={resolve(folder, checkpoint).env_steps}"
        runs_dir = folder.root  # a run elsewhere, named by its path, is looked at where it lies
    password = read_password(password_env)
    opened = () if trace is None else (trace,)
    server = inspector_server(runs_dir, host=host, port=port, password=password, trust=trust, opened=opened)
    with suppress(KeyboardInterrupt):  # how it is ended, also between the announcement and the first request
        url = announce(server, "inspector", chosen)
        if browser:
            open_browser_soon(server, url)
        server.serve()


def inspector_server(
    runs_dir: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    password: str | None = None,
    trust: bool = False,
    opened: Sequence[Recording] = (),
) -> PageServer:
    """A server with a port and a `url`, not yet serving: `serve()` does until `stop()` or Ctrl-C.

    The page begins with the `opened` recordings, whatever they are of.
    """
    _require()
    from gymnast.inspect.app import build_inspector
    from gymnast.runs.store import runs_root
    from gymnast.web.security import access_for
    from gymnast.web.server import PageServer

    access, folder = access_for(host, password), runs_root(runs_dir)
    if folder.exists() and not folder.is_dir():
        raise GymnastError(f"{folder} is a file: name the folder that holds the runs")
    app = build_inspector(folder, access, trust=trust, opened=opened)
    return PageServer(app, access, host=host, port=port)


def _require() -> None:
    from importlib.util import find_spec

    for package in ("starlette", "uvicorn", "websockets"):
        if find_spec(package) is None:
            raise MissingExtra("the inspector", "inspect")
