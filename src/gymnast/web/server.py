"""Serving a page in the foreground: the port, what is printed, Ctrl-C."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import TYPE_CHECKING

from gymnast.errors import GymnastError
from gymnast.web.security import Access, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PORT = 8765  # where nothing else is asked for; the same each time, so that a forwarded port stays right
_LEAVE_SECONDS = 2  # for requests under way when the server ends


class PageServer:
    """A server on a port of its own. The port is taken at once, so its URL is known before it serves."""

    def __init__(
        self, app: ASGIApp, access: Access, *, host: str = "127.0.0.1", port: int | None = None
    ) -> None:
        """Without a port: the usual one, or any that is free. `app` is what `Guarded` made."""
        import uvicorn

        from gymnast.web.guard import MOST_BODY

        self.app, self.access, self.host = app, access, host
        self._socket = _bound(host, port)
        self.port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                ws="websockets-sansio",
                ws_max_size=MOST_BODY,
                ws_per_message_deflate=False,
                lifespan="on",
                timeout_graceful_shutdown=_LEAVE_SECONDS,
                h11_max_incomplete_event_size=64 << 10,
                proxy_headers=False,
            )
        )

    @property
    def address(self) -> str:
        """Without the token."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{host}:{self.port}/"

    @property
    def url(self) -> str:
        """What opens the page; where a password does, without a token."""
        return (
            self.address if self.access.password is not None else f"{self.address}#token={self.access.token}"
        )

    def serve(self) -> None:
        """Until Ctrl-C, or `stop`."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # refused handshakes are not news
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass  # how a server is ended
        finally:
            self._socket.close()

    def stop(self) -> None:
        """From any thread."""
        self._server.should_exit = True

    @property
    def started(self) -> bool:
        return bool(self._server.started)


def _bound(host: str, port: int | None) -> socket.socket:
    if port is not None:
        return _listen(host, port)
    try:
        return _listen(host, PORT)
    except GymnastError:
        return _listen(host, 0)


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 65536:
        raise GymnastError(f"a port is from 0 to 65535, got {port}")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise GymnastError(f"--host {host}: there is no such address ({error})") from None
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise GymnastError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listening


def announce(server: PageServer, what: str, fragment: str = "") -> str:
    """Print where the page is and how to reach it from elsewhere; the URL. `fragment` is for the page, as in
    `run=k3v9x0ab`."""
    from gymnast.terminal.text import echo

    url = server.url
    if fragment:
        url += f"{'&' if '#' in url else '#'}{fragment}"
    echo(f"{what}   {url}")
    if os.environ.get("SSH_CONNECTION") and is_loopback(server.host):
        echo(f"over ssh, first run this on your own machine:  {forward_line(server.port)}")
    if not is_loopback(server.host):
        echo(
            "other machines can reach it with the password, which crosses the network unencrypted; ssh -L"
            " is safer",
            style="magenta",
            wrap=True,
        )
    echo("Ctrl-C ends it")
    return url


def forward_line(port: int) -> str:
    """The ssh command that makes this server's port one of the user's own machine."""
    import getpass

    connection = os.environ.get("SSH_CONNECTION", "").split()
    machine = connection[2] if len(connection) == 4 else socket.gethostname()
    try:
        user = f"{getpass.getuser()}@"
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = ""
    return f"ssh -N -L {port}:127.0.0.1:{port} {user}{machine}"


def open_browser_soon(server: PageServer, url: str) -> None:
    """Open the page once the server answers; where there is no browser, nothing happens."""
    if os.environ.get("SSH_CONNECTION"):
        return

    def wait_and_open() -> None:
        import time
        import webbrowser

        for _ in range(100):
            if server.started:
                webbrowser.open(url)
                return
            time.sleep(0.05)

    if os.name == "nt" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or _is_mac():
        threading.Thread(target=wait_and_open, daemon=True).start()


def _is_mac() -> bool:
    import sys

    return sys.platform == "darwin"


def read_password(variable: str | None) -> str | None:
    """The password in an environment variable, so that it is on no command line."""
    if variable is None:
        return None
    password = os.environ.get(variable)
    if not password:
        raise GymnastError(f"--password-env {variable}: there is no such environment variable")
    return password
