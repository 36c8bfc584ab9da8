"""Nothing is reached without the token, from other pages or hosts, by tricks with paths, or by bad bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from starlette.routing import Route, WebSocketRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gymnast import api
from gymnast.web import guard
from gymnast.web.guard import MOST_BODY, Guarded
from gymnast.web.server import PageServer
from pages import client_of, raw, serving, socket_of

SECRET = "the user's own secret"


@pytest.fixture(scope="module", autouse=True)
def secrets(runs: Path, run: str) -> Iterator[None]:
    """Files beside and inside the runs folder that no request may read."""
    (runs.parent / "secret.txt").write_text(SECRET)
    (runs.parent / "secret.mp4").write_text(SECRET)
    (runs / "secret.txt").write_text(SECRET)
    outside = runs.parent / "elsewhere"
    outside.mkdir()
    (outside / "run.json").write_text(json.dumps({"id": "elsewher", "env": SECRET}))
    (runs / "linkedab").symlink_to(outside)
    folder = runs / run
    (folder / "videos").mkdir(exist_ok=True)
    (folder / "videos" / "link.mp4").symlink_to(runs.parent / "secret.mp4")
    (folder / "recordings").mkdir(exist_ok=True)
    (folder / "recordings" / "0123456789").symlink_to(outside)
    yield
    (folder / "recordings" / "0123456789").unlink()


def routes(server: PageServer) -> list[Route | WebSocketRoute]:
    app = server.app
    assert isinstance(app, Guarded)
    return list(app.app.routes)  # type: ignore[attr-defined]


def filled(route: Route | WebSocketRoute, run: str) -> str:
    path = route.path
    for name, value in (("run", run), ("recording", f"{run}-00"), ("rec", f"{run}-00"), ("job", "1")):
        path = path.replace(f"{{{name}}}", value)
    return path.replace("{name}", "best.mp4").replace("{name:path}", "reward")


@pytest.mark.slow
def test_no_route_under_api_answers_without_the_token(server: PageServer, run: str) -> None:
    tried = 0
    for route in routes(server):
        path = filled(route, run)
        if not isinstance(route, Route) or not path.startswith("/api/") or path == "/api/login":
            continue
        for method in route.methods or ():
            for token in (None, "wrong", server.access.token[:-1]):
                with client_of(server, token) as client:
                    answer = client.request(method, path, json={} if method == "POST" else None)
                assert answer.status_code == 401, (method, path)
                if method != "HEAD":
                    assert answer.json().keys() == {"error"}
                tried += 1
    assert tried > 30


def test_every_websocket_is_guarded(server: PageServer) -> None:
    sockets = [route for route in routes(server) if isinstance(route, WebSocketRoute)]
    assert sockets
    assert all(getattr(route.endpoint, "is_guarded", False) for route in sockets)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::1]evil"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/", "/web/api.js", "/nothing"])
def test_other_hosts_and_pages_get_nothing(client: httpx2.Client, headers: dict[str, str], path: str) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code in (400, 403)
    assert "<html" not in answer.text


def test_two_hosts_or_none_get_nothing(server: PageServer) -> None:
    bearer = f"Authorization: Bearer {server.access.token}"
    status, _ = raw(server, "GET /api/runs HTTP/1.1", "Host: 127.0.0.1", "Host: evil", bearer)
    assert status in (400, 403)
    status, _ = raw(server, "GET /api/runs HTTP/1.0", bearer)
    assert status in (400, 403)


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_websockets_of_other_pages_are_refused(server: PageServer, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus) as refused, socket_of(server, "/api/live", additional_headers=headers):
        pass
    assert refused.value.response.status_code == 403


def test_websockets_for_another_host_are_refused(server: PageServer) -> None:
    status, _ = raw(
        server,
        "GET /api/live HTTP/1.1",
        "Host: evil.example",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    )
    assert status == 403


@pytest.mark.parametrize(
    "first",
    [
        '{"token": "wrong"}',
        '{"token": 5}',
        '{"token": null}',
        "{}",
        "[]",
        "not json",
        '{"watch": []}',
        "[" * 900,
        '{"token": "' + "a" * 5000 + '"}',
        b"\x00\x01",
        "",
    ],
)
def test_a_websocket_without_the_token_is_closed_unheard(server: PageServer, first: str | bytes) -> None:
    with socket_of(server, "/api/live", token=None) as opened:
        opened.send(first)
        with pytest.raises(ConnectionClosed) as closed:
            opened.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


def test_a_websocket_that_says_nothing_is_closed(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_TOKEN_SECONDS", 0.3)
    with socket_of(server, "/api/live", token=None) as opened, pytest.raises(ConnectionClosed) as closed:
        opened.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        "[1, 2]",
        '{"watch": "abcdefgh"}',
        '{"watch": [1]}',
        '{"watch": null}',
        json.dumps({"watch": ["abcdefgh"] * 51}),
        '{"a": 1, "a": 2}',
        "[" * 5000,
        b"\xff\xfe",
    ],
)
def test_malformed_messages_close_a_websocket(server: PageServer, message: str | bytes) -> None:
    with socket_of(server, "/api/live") as opened:
        opened.send(message)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                opened.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4400


def test_an_oversized_message_closes_a_websocket(server: PageServer) -> None:
    with socket_of(server, "/api/live") as opened, pytest.raises(ConnectionClosed) as closed:
        opened.send("x" * (MOST_BODY + 1))
        while True:
            opened.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize("name", ["../../etc/passwd", "../elsewhere", "linkedab", "/etc", "\0", "abcdefgh"])
def test_runs_that_are_not_there_cannot_be_watched(server: PageServer, name: str) -> None:
    with socket_of(server, "/api/live") as opened:
        opened.send(json.dumps({"watch": [name]}))
        with pytest.raises(TimeoutError):
            opened.recv(timeout=1.2)


TRICKS = [
    "..",
    "../secret.txt",
    "%2e%2e",
    "%2e%2e%2fsecret.txt",
    "..%2fsecret.txt",
    "%252e%252e%252fsecret.txt",
    "..%5csecret.txt",
    "%c0%ae%c0%ae",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "....//secret.txt",
    "%00",
    "secret.txt%00.mp4",
    "linkedab",
    "secret.txt",
    "registry.json",
    "~root",
    "C:%5cWindows",
    "@last",
    "file:%2f%2f%2fetc%2fpasswd",
    "x" * 5000,
    "%",
    "%zz",
    "%ff%fe",
    "a%0d%0aSet-Cookie:%20x=1",
]
PLACES = [
    "/api/runs/{}",
    "/api/runs/{}/metrics",
    "/api/runs/{}/report",
    "/api/runs/{}/distributions",
    "/api/runs/{}/videos/best.mp4",
    "/api/runs/RUN/videos/{}",
    "/api/runs/RUN/distributions/{}",
    "/api/recordings/{}/data",
    "/api/recordings/{}/steps.csv",
    "/api/recordings/RUN-{}/data",
    "/api/jobs/{}",
    "/api/sweeps/{}",
    "/api/runs/{}/review",
    "/api/runs/{}/review/kept",
    "/web/{}",
    "/assets/{}",
    "/{}",
]


@pytest.mark.parametrize("place", PLACES)
def test_tricks_with_paths_reach_nothing(server: PageServer, run: str, place: str) -> None:
    bearer = f"Authorization: Bearer {server.access.token}"
    for trick in TRICKS:
        path = place.replace("RUN", run).format(trick)
        status, data = raw(server, f"GET {path} HTTP/1.1", "Host: 127.0.0.1", bearer, "Connection: close")
        assert status in (0, 400, 404, 405), (path, data[:300])
        assert SECRET.encode() not in data
        assert b"root:" not in data
        assert b"set-cookie" not in data.partition(b"\r\n\r\n")[0].lower()


@pytest.mark.parametrize("number", ["0123456789", "../../../", "recordings", "%2e%2e"])
def test_linked_recordings_are_neither_read_nor_removed(
    server: PageServer, client: httpx2.Client, runs: Path, run: str, number: str
) -> None:
    for answer in (
        client.get(f"/api/recordings/{run}-{number}/data"),
        client.delete(f"/api/recordings/{run}-{number}"),
        client.get(f"/api/recordings/{run}-{number}/steps.csv"),
    ):
        assert answer.status_code in (404, 405)
    assert (runs.parent / "elsewhere" / "run.json").exists()
    assert client.get("/api/recordings").json()["recordings"] == []


def test_linked_videos_and_runs_are_not_there(client: httpx2.Client, run: str) -> None:
    assert "link.mp4" not in client.get(f"/api/runs/{run}").json()["videos"]
    assert client.get(f"/api/runs/{run}/videos/link.mp4").status_code == 404
    assert [entry["id"] for entry in client.get("/api/runs").json()["runs"]] == [run]


BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b'{"run": 1}',
    b'{"run": "abcdefgh"}',
    b'{"run": "../x"}',
    b'{"a": 1, "a": 2}',
    b"[" * 10_000,
    b'{"run": ' + b"9" * 5000 + b"}",
    b"\xff\xfe{}",
    b"\0",
]


@pytest.mark.parametrize(
    "path",
    [
        "/api/recordings",
        "/api/runs/RUN/control",
        "/api/runs/RUN/review",
        "/api/runs/RUN/review/start",
        "/api/recordings/RUN-0000000000/insight",
        "/api/login",
    ],
)
def test_malformed_bodies_are_refused_in_words(client: httpx2.Client, run: str, path: str) -> None:
    for body in BODIES:
        answer = client.post(path.replace("RUN", run), content=body)
        assert answer.status_code in (400, 404, 409), (body[:40], answer.text)
        assert answer.json()["error"]
        assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", ["/api/recordings", "/api/runs/RUN/control", "/api/login", "/"])
def test_oversized_bodies_are_refused(server: PageServer, client: httpx2.Client, run: str, path: str) -> None:
    path = path.replace("RUN", run)
    body = b"{" + b" " * MOST_BODY + b"}"
    assert client.post(path, content=body).status_code == 413

    def chunks() -> Iterator[bytes]:  # without a length
        for _ in range(40):
            yield b" " * 16_384

    if path != "/":
        assert client.post(path, content=chunks()).status_code == 413
    lengths = ("-1", "9" * 30, "x")
    for length in lengths:
        bearer = f"Authorization: Bearer {server.access.token}"
        status, _ = raw(
            server,
            f"POST {path} HTTP/1.1",
            "Host: localhost",
            bearer,
            f"Content-Length: {length}",
            "Connection: close",
        )
        assert status in (0, 400, 413)
    assert client.get("/api/session").status_code == 200  # it is alive


def test_every_answer_has_the_headers(client: httpx2.Client, server: PageServer, run: str) -> None:
    with client_of(server, None) as nobody:
        answers = [
            *(client.get(path) for path in ("/", "/web/api.js", "/nothing", "/api/runs", f"/api/runs/{run}")),
            nobody.get("/api/runs"),
            client.get("/", headers={"Host": "evil.example"}),
            client.put("/api/runs"),
        ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        for part in ("object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "connect-src 'self'"):
            assert part in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == ("no-store" if "/api/" in str(answer.url) else "no-cache")
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_a_password_guards_everything(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(api.inspector_server(runs, host="0.0.0.0", port=0, password="correct horse")) as server:
        assert "token" not in server.url
        with client_of(server) as client:
            assert client.get("/api/runs").status_code == 401
            assert client.get("/api/login").json() == {"password": True}
            assert client.post("/api/login", json={"password": "wrong"}).status_code == 401
            token = client.post("/api/login", json={"password": "correct horse"}).json()["token"]
            for _ in range(4):
                assert client.post("/api/login", json={"password": "x"}).status_code == 401
            assert client.post("/api/login", json={"password": "x"}).status_code == 429
        with client_of(server, token) as client:
            assert client.get("/api/runs").status_code == 200
        with socket_of(server, "/api/live", token=token) as opened:
            opened.send('{"watch": []}')
            with pytest.raises(TimeoutError):
                opened.recv(timeout=0.8)
        with socket_of(server, "/api/live") as opened, pytest.raises(ConnectionClosed):
            opened.recv(timeout=60)


def test_what_a_page_records_names_no_code_no_file_and_no_variable(
    client: httpx2.Client, run: str, tmp_path: Path
) -> None:
    marker = tmp_path / "imported"
    (tmp_path / "evil_env.py").write_text(f"open({str(marker)!r}, 'w')")
    for overrides in (
        {"env.id": "evil_env:Env"},
        {"env.wrappers": [{"name": "evil_env:Wrapper"}]},
        {"env.wrappers": ["os.path:join"]},
        {"env.kwargs.a": "${HOME}"},
        {"env.kwargs.a": {"b": ["${HOME}"]}},
        {"env.kwargs.file": "/etc/passwd"},
        {"env.vizdoom.wad": "../../secret.wad"},
        {"env.vizdoom.wad": "~/secret.wad"},
        {"hooks": ["evil_env:Hook"]},
        {"policy.encoder": "evil_env:Encoder"},
        {"env": {"id": "evil_env:Env"}},
        {"env.kwargs": {"a.b": 1, "${HOME}": 2}},
        {"__class__": 1},
        {"env..id": 1},
        ["env.id=x"],
        "env.id=x",
    ):
        answer = client.post("/api/recordings", json={"run": run, "overrides": overrides})
        assert answer.status_code == 400, overrides
    assert not marker.exists()


def test_no_file_is_left_open_by_refused_requests(
    server: PageServer, client: httpx2.Client, run: str
) -> None:
    client.get(f"/api/runs/{run}/videos/link.mp4")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        client.get(f"/api/runs/{run}/videos/link.mp4")
        client.get("/api/runs/abcdefgh")
        client.get("/web/../secret")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 5


def test_the_file_of_a_recording_names_no_code_and_no_other_run(
    client: httpx2.Client, runs: Path, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run folder may come from anybody: what its recordings say is not the user's own wish."""
    marker = tmp_path / "imported"
    (tmp_path / "evil_module.py").write_text(f"open({str(marker)!r}, 'w')")
    monkeypatch.syspath_prepend(str(tmp_path))
    info = api.record_checkpoint(run, runs_dir=runs, max_steps=3)
    path = runs / run / "recordings" / info.id.partition("-")[2] / "recording.json"
    document = json.loads(path.read_text())
    for overrides in (
        {"env.id": "evil_module:Env"},
        {"env.wrappers": ["evil_module:W"]},
        {"policy.encoder": "x:y"},
    ):
        path.write_text(json.dumps(document | {"overrides": overrides}))
        assert client.get(f"/api/recordings/{info.id}/data").status_code == 200  # data is only data
        answer = client.post(f"/api/recordings/{info.id}/insight", json={"kind": "about"})
        assert answer.status_code == 400
    assert not marker.exists()
    path.write_text(json.dumps(document))
    other = api.train(
        "CartPole-v1:ppo", max_env_steps=512, overrides={"eval.every": 0}, runs_dir=tmp_path / "runs"
    )
    trace = api.load_trace(path.parent / "trace")
    moved = replace(trace, meta=trace.meta.model_copy(update={"run": str(other.path), "checkpoint": 512}))
    api.save_trace(moved, path.parent / "trace")
    meta = api.load_recording(info.id, runs_dir=runs).trace.meta
    assert (meta.run, meta.checkpoint) == (run, info.checkpoint)
    assert client.delete(f"/api/recordings/{info.id}").status_code == 200
