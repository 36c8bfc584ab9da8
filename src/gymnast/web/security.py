"""Who may talk to a page that Gymnast serves, and what a browser may do with it.

On this machine a random token opens it. It is printed in the URL after `#`, which a browser never sends by
itself; the page sends it with every request. From other machines a password is exchanged for such a token.
`Host` must be a name of this server, so that no foreign domain can be pointed at it, and `Origin`, where a
browser gives one, must be the page's own.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LEAST_PASSWORD = 8  # characters
_SESSION_SECONDS = 12 * 3600.0
_MOST_SESSIONS = 64
_TRIES, _TRIES_SECONDS = 5, 60.0  # wrong passwords from one address, and from all together four times as many

# Scripts and styles come from this server and are never inline: a page links plotly's own styles itself.
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;"
    " media-src 'self' blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class Refused(GymnastError):
    """A request that is not answered; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Access:
    """What one server accepts. Without a password its token opens it, with one only sessions do."""

    hosts: frozenset[str] = frozenset(LOOPBACK)  # names without the port: a forwarded one may differ
    any_address: bool = False  # numbers are accepted as `Host` too: nobody can point a domain at those
    password: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _sessions: dict[str, float] = field(default_factory=dict)  # token → until when
    _failures: list[tuple[float, str]] = field(default_factory=list)  # wrong passwords: when, from where
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def check_origin(self, connection: HTTPConnection) -> None:
        """Raise unless `Host` names this server, and `Origin` the page that it served."""
        hosts, origins = (connection.headers.getlist(name) for name in ("host", "origin"))
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise Refused(403, "the Host header does not name this server")
        # A page behind a proxy with TLS has https where this server has http.
        if len(origins) > 1 or any(origin not in _origins(hosts[0]) for origin in origins):
            raise Refused(403, "requests from other pages are not accepted")
        if connection.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Refused(403, "requests from other pages are not accepted")

    def check_token(self, token: object) -> None:
        """Raise unless it is the token of this server, or of a session."""
        if not isinstance(token, str) or not token.isascii():
            raise self._unknown()
        if self.password is None and hmac.compare_digest(token, self.token):
            return
        now = time.monotonic()
        # All are compared, so that the time taken says nothing about any of them.
        known = [hmac.compare_digest(token, session) and until > now for session, until in self._open()]
        if not any(known):
            raise self._unknown()

    def check_request(self, connection: HTTPConnection) -> None:
        """Raise unless the request has the token, or a ticket for its very path."""
        ticket = connection.query_params.get("ticket")
        if ticket is not None and connection.scope.get("method") in ("GET", "HEAD"):
            if not ticket.isascii() or not hmac.compare_digest(ticket, self._sign(connection.url.path)):
                raise self._unknown()
            return
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        self.check_token(token.strip() if scheme.lower() == "bearer" else None)

    def with_ticket(self, path: str) -> str:
        """A path that opens without the header, for elements that load by themselves, such as <video>."""
        return f"{path}?ticket={self._sign(path)}"

    def log_in(self, password: object, address: str) -> str:
        """A session's token for the password; after a few wrong ones an address has to wait."""
        if self.password is None:
            raise Refused(404, "this server has no password: open the URL that it printed")
        now = time.monotonic()
        self._failures = [(when, who) for when, who in self._failures if now - when < _TRIES_SECONDS]
        own = sum(who == address for _, who in self._failures)
        if own >= _TRIES or len(self._failures) >= 4 * _TRIES:
            raise Refused(429, f"too many wrong passwords: wait {_TRIES_SECONDS:g} seconds")
        given = password if isinstance(password, str) else ""
        if not hmac.compare_digest(_digest(given), _digest(self.password)):
            self._failures.append((now, address))
            raise Refused(401, "wrong password")
        session = secrets.token_urlsafe(32)
        self._sessions = dict(self._open()[-(_MOST_SESSIONS - 1) :])
        self._sessions[session] = now + _SESSION_SECONDS
        return session

    def _open(self) -> list[tuple[str, float]]:
        now = time.monotonic()
        return [(token, until) for token, until in self._sessions.items() if until > now]

    def _unknown(self) -> Refused:
        if self.password is not None:
            return Refused(401, "log in with the password")
        return Refused(401, "the token is missing or wrong: open the URL that was printed in the terminal")

    def _is_own(self, host: str) -> bool:
        name = host_name(host)
        return name in self.hosts or (self.any_address and _is_address(name))

    def _sign(self, path: str) -> str:
        return hmac.new(self._key, path.encode(errors="replace"), hashlib.sha256).hexdigest()


def access_for(host: str, password: str | None, names: Iterable[str] = ()) -> Access:
    """What a server on this host accepts; GymnastError if others could reach it without a password.

    `names` are further ones by which a browser may reach it.
    """
    if password is not None and len(password) < LEAST_PASSWORD:
        raise GymnastError(
            f"the password must have at least {LEAST_PASSWORD} characters, got {len(password)}"
        )
    if is_loopback(host):
        return Access(frozenset((*LOOPBACK, *names)), password=password)
    if password is None:
        raise GymnastError(
            f"other machines could reach {host}: give a password by --password-env NAME, or stay on 127.0.0.1"
            " and forward the port with ssh -L"
        )
    own = {host, socket.gethostname(), socket.getfqdn(), *LOOPBACK, *names}
    return Access(frozenset(name.lower() for name in own), any_address=True, password=password)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_name(host: str) -> str:
    """A `Host` header without its port, lower case; empty if it is not one."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "0"
    if not (port.isascii() and port.isdigit()):
        return ""
    return name.removeprefix("[").removesuffix("]").lower()


def _origins(host: str) -> tuple[str, str]:
    return f"http://{host}", f"https://{host}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _digest(text: str) -> bytes:
    """Of equal length for any text: so comparing says nothing about the password's length."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
