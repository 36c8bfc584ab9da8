"""Who may come in: tokens, passwords, hosts, origins; first without a server."""

from __future__ import annotations

import pytest
from starlette.requests import HTTPConnection

from gymnast.errors import GymnastError
from gymnast.web.security import Access, Refused, access_for, host_name


def asking(method: str = "GET", path: str = "/api/runs", query: str = "", **headers: str) -> HTTPConnection:
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection(
        {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": given}
    )


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:8765", "127.0.0.1"),
        ("LOCALHOST", "localhost"),
        ("[::1]:80", "::1"),
        ("[::1]", "::1"),
        ("evil:x", ""),
        ("127.0.0.1:80:90", "127.0.0.1:80"),
    ],
)
def test_a_host_header_without_its_port(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:2", "[::1]:3", "localhost"])
def test_names_of_this_machine_are_accepted_on_any_port(host: str) -> None:
    Access().check_origin(asking(host=host, origin=f"http://{host}"))  # a forwarded port is another one


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:80"},
        {"host": "localhost:80@evil.example"},
        {"host": "127.0.0.1", "origin": "http://evil.example"},
        {"host": "127.0.0.1:80", "origin": "http://127.0.0.1:81"},
        {"host": "127.0.0.1", "origin": "null"},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1.evil.example"},
        {"host": "127.0.0.1", "sec_fetch_site": "cross-site"},
        {"host": "127.0.0.1", "sec_fetch_site": "same-site"},
    ],
)
def test_other_hosts_and_pages_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        Access().check_origin(asking(**headers))
    assert refused.value.status == 403


@pytest.mark.parametrize("token", [None, "", "x", 5, ["x"], "é", "\0", "a" * 10_000])
def test_wrong_tokens_are_refused(token: object) -> None:
    with pytest.raises(Refused) as refused:
        Access().check_token(token)
    assert refused.value.status == 401


def test_the_token_comes_as_a_bearer_and_in_no_other_way() -> None:
    access = Access()
    access.check_request(asking(authorization=f"Bearer {access.token}"))
    for headers in ({}, {"authorization": access.token}, {"authorization": f"Basic {access.token}"}):
        with pytest.raises(Refused):
            access.check_request(asking(**headers))
    with pytest.raises(Refused):
        access.check_request(asking(query=f"token={access.token}"))
    with pytest.raises(Refused):
        access.check_request(asking(cookie=f"token={access.token}"))


def test_a_ticket_opens_one_path_for_reading() -> None:
    access = Access()
    path, _, ticket = access.with_ticket("/api/runs/abcdefgh/videos/best.mp4").partition("?")
    access.check_request(asking(path=path, query=ticket))
    for wrong in (
        asking(path="/api/runs", query=ticket),
        asking("POST", path, ticket),
        asking("DELETE", path, ticket),
        asking(path=path, query=ticket[:-1]),
        asking(path=path, query="ticket="),
        asking(path=path, query="ticket=é"),
    ):
        with pytest.raises(Refused):
            access.check_request(wrong)
    with pytest.raises(Refused):
        Access().check_request(asking(path=path, query=ticket))  # of another server


def test_another_host_needs_a_password() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "machine.example"):
        with pytest.raises(GymnastError, match="password"):
            access_for(host, None)
    with pytest.raises(GymnastError, match="at least 8"):
        access_for("0.0.0.0", "short")
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        assert access_for(host, None).password is None


def test_a_password_is_exchanged_for_a_session() -> None:
    access = access_for("0.0.0.0", "correct horse")
    with pytest.raises(Refused, match="log in"):
        access.check_token(access.token)  # the token of the terminal does not replace the password
    session = access.log_in("correct horse", "10.0.0.1")
    access.check_token(session)
    access.check_origin(asking(host="192.168.1.5:80", origin="http://192.168.1.5:80"))
    with pytest.raises(Refused):
        access.check_origin(asking(host="evil.example"))


def test_wrong_passwords_have_to_wait() -> None:
    access = access_for("0.0.0.0", "correct horse")
    for password in ("", "wrong", None, 7, "correct horse "):
        with pytest.raises(Refused) as refused:
            access.log_in(password, "10.0.0.1")
        assert refused.value.status == 401
    with pytest.raises(Refused) as refused:
        access.log_in("correct horse", "10.0.0.1")
    assert refused.value.status == 429
    access.check_token(access.log_in("correct horse", "10.0.0.2"))
    for number in range(3, 6):
        for _ in range(5):
            with pytest.raises(Refused):
                access.log_in("wrong", f"10.0.0.{number}")
    with pytest.raises(Refused) as refused:  # many addresses together
        access.log_in("correct horse", "10.0.0.9")
    assert refused.value.status == 429


def test_sessions_do_not_pile_up() -> None:
    access = access_for("0.0.0.0", "correct horse")
    first = access.log_in("correct horse", "10.0.0.1")
    last = [access.log_in("correct horse", "10.0.0.1") for _ in range(100)][-1]
    access.check_token(last)
    with pytest.raises(Refused):
        access.check_token(first)


def test_a_server_without_a_password_has_no_login() -> None:
    with pytest.raises(Refused) as refused:
        Access().log_in("", "127.0.0.1")
    assert refused.value.status == 404
