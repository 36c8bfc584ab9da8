"""Joining a Ray cluster, or starting one here: without a dashboard or usage reports, and only with a token.

Whoever reaches a Ray cluster can run code on it. So token authentication is on unless RAY_AUTH_MODE says
otherwise, and a cluster that is started here gets a token of its own, which no file keeps.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, MissingExtra

OLDEST = (2, 54)  # before it, anyone's web page could run code on a cluster (CVE-2026-27482)
_REACH_SECONDS = 5.0
# How an HTTP/2 client, and so gRPC, begins; the other side's first frame is of the type SETTINGS.
_SETTINGS = b"\x04"
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _SETTINGS + b"\0\0\0\0\0"
_CLIENT = "ray://"
_TOKEN, _TOKEN_FILE, _MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"


class RaySession:
    """This process as a driver of a Ray cluster; `leave` ends what was started for it."""

    def __init__(self, address: str | None, what_for: str = "cluster.on: ray") -> None:
        if find_spec("ray") is None:
            raise MissingExtra(what_for, "ray")
        _prepare(address)
        import ray

        self.ray: Any = ray
        _check_release(ray.__version__)
        self._joined = not ray.is_initialized()
        if self._joined:
            self._join(address)

    def _join(self, address: str | None) -> None:
        quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
        if address is not None and address.startswith(_CLIENT):
            quiet = {"log_to_driver": False}  # the rest is up to the machine that it connects to
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            self.ray.init(address=address, **quiet)
        except Exception as error:  # Ray raises many kinds
            self.ray.shutdown()
            raise GymnastError(_why_not(address, error)) from None

    def places(self, needs: dict[str, float]) -> int:
        """How many actors with these needs the machines of now can hold together."""
        count = 0
        for node in self.ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                count += int(min(has.get(name, 0.0) / amount for name, amount in needs.items() if amount))
        return count

    def leave(self) -> None:
        if self._joined:
            self._joined = False
            self.ray.shutdown()


def _prepare(address: str | None) -> None:
    """Set what Ray reads when it is imported, and see that someone listens at the address."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault(_MODE, "token")
    where = address or os.environ.get("RAY_ADDRESS")
    if where is not None and where not in ("auto", "local"):
        _reach(where)
    has_token = os.environ.get(_TOKEN) or os.environ.get(_TOKEN_FILE) or _default_token().is_file()
    if os.environ[_MODE] == "token" and not has_token:
        if where is not None:
            raise GymnastError(
                f"Ray at {where} needs a token: put it into ~/.ray/auth_token or {_TOKEN}, as on the machines"
                f" of the cluster ({_MODE}=disabled if that has none)"
            )
        os.environ[_TOKEN] = secrets.token_hex(32)
    if "ray" in sys.modules:
        read_environment_again()


def read_environment_again() -> None:
    """Ray reads how it authenticates once, when it is imported, which others may have done before us."""
    with suppress(ImportError, AttributeError):  # they are Ray's own, and may move
        raylet: Any = import_module("ray._raylet")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _default_token() -> Path:
    return Path.home() / ".ray" / "auth_token"


def _reach(address: str) -> None:
    """Raise GymnastError unless something there speaks gRPC. Ray itself would try for minutes."""
    host, colon, port = address.removeprefix(_CLIENT).rpartition(":")
    if not colon or not host or not port.isdigit():
        raise GymnastError(
            f"cluster.address {address!r} is not an address of Ray; give HOST:6379 from a machine of the"
            f" cluster, or {_CLIENT}HOST:10001 from elsewhere"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS) as link:
            if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
                return  # nobody answers there before a handshake
            link.settimeout(_REACH_SECONDS)
            link.sendall(_GREETING)
            try:
                answer = link.recv(9)
            except TimeoutError:
                answer = b""
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GymnastError(
            f"no Ray at {address}: {reason}; start it there with 'ray start --head', or leave the address out"
        ) from None
    if answer[3:4] != _SETTINGS:
        raise GymnastError(
            f"no Ray at {address}: something else listens there; the port of a cluster is 6379, that of its"
            " client server 10001, unless 'ray start' was given others"
        )


def _check_release(installed: str) -> None:
    numbers = tuple(int(part) for part in installed.split(".")[:2])
    if numbers < OLDEST:
        raise GymnastError(
            f"ray {installed} has known holes; Gymnast needs ray>={'.'.join(map(str, OLDEST))}:"
            " pip install -U 'gymnast[ray]'"
        )


def _why_not(address: str | None, error: Exception) -> str:
    """One message about a cluster that cannot be joined."""
    where = address or os.environ.get("RAY_ADDRESS") or "this machine"
    text = " ".join(str(error).split())
    if "Version mismatch" in text or "version mismatch" in text:
        return f"Ray at {where} is of another version: {text}"
    if type(error).__name__ == "AuthenticationError" or "nauthenticated" in text:
        return (
            f"Ray at {where} refused the token of this machine: it must be that of the cluster ({_TOKEN},"
            " or the file ~/.ray/auth_token)"
        )
    if isinstance(error, ConnectionError):
        return (
            f"Ray at {where} did not accept this driver: its token ({_TOKEN}, ~/.ray/auth_token) is another"
            f" one, or it is not a Ray of the same version ({text})"
        )
    return f"Ray at {where} cannot be used: {type(error).__name__}: {text}"
