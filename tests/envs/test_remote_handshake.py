"""Who may dial in: guests that are no actors of the run are refused, and the learner does not notice."""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest

from gymnast import __version__
from gymnast.envs.backends import remote_listener
from gymnast.envs.backends.remote import RemoteEnvs
from gymnast.envs.backends.remote_actor import serve
from gymnast.envs.backends.remote_handshake import PROTOCOL, Refused, greet_learner
from gymnast.envs.backends.remote_listener import Listener, listening
from gymnast.envs.backends.remote_wire import Kind, Wire, WireError
from gymnast.envs.backends.worker_process import Answer, Command
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

TOKEN, OTHER = "a" * 32, "b" * 32
HEADER = struct.Struct("<HBxIII")


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening("127.0.0.1", 0, TOKEN) as opened:
        yield opened


def dial(listener: Listener) -> socket.socket:
    return socket.create_connection(listener.address, timeout=20)


def frame(text: bytes, length: int | None = None) -> bytes:
    return HEADER.pack(0x7967, Kind.MESSAGE, 0, 0, len(text) if length is None else length) + text


def hello(**changes: object) -> bytes:
    said = {"gymnast": __version__, "protocol": PROTOCOL, "byteorder": "little", "pid": 1, "nonce": "x"}
    return frame(json.dumps(said | {"envs": None} | changes).encode())


def soon(seconds: float = 60.0) -> float:
    return time.monotonic() + seconds


def is_let_in(listener: Listener) -> bool:
    """Whether an actor that has the token gets in."""
    wire = Wire(dial(listener))
    greet_learner(wire, TOKEN, "mine", None, soon())
    arrived = listener.take(1, 60)
    wire.close()
    return arrived is not None


def logged(caplog: pytest.LogCaptureFixture, text: str) -> str:
    end = soon()
    while True:
        for line in caplog.messages:
            if text in line:
                return line
        assert time.monotonic() < end, (text, caplog.messages)
        time.sleep(0.02)


def test_an_actor_with_the_token_is_let_in(listener: Listener) -> None:
    wire = Wire(dial(listener))
    greet_learner(wire, TOKEN, "mine", 3, soon())
    arrived = listener.take(3, 5)
    assert arrived is not None
    assert (arrived.info.name, arrived.info.most_envs) == ("mine", 3)


def test_one_that_hung_up_while_it_waited_is_given_nothing(listener: Listener) -> None:
    wire = Wire(dial(listener))
    greet_learner(wire, TOKEN, "mine", None, soon())
    wire.close()
    assert listener.take(1, 0.5) is None
    assert listener.idle == 0


def test_a_wrong_token_is_refused_on_both_sides(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(GymnastError, match=r"refused by the learner at 127.0.0.1:\d+: wrong token"):
        serve(*listener.address, OTHER)
    assert logged(caplog, "wrong token").startswith("refused an actor at 127.0.0.1:")
    assert listener.idle == 0


def test_a_learner_without_the_token_is_not_obeyed() -> None:
    """Who listens in its place says yes to everyone, and would have any module imported."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def welcome_anyone() -> None:
            wire = Wire(server.accept()[0])
            wire.read_message(soon(), 4096)
            wire.write_message({"nonce": "00"})
            wire.read_message(soon(), 4096)
            wire.write_message({"proof": "00" * 32})
            time.sleep(0.5)

        thread = threading.Thread(target=welcome_anyone)
        thread.start()
        with pytest.raises(GymnastError, match="the learner does not know the token"):
            serve("127.0.0.1", server.getsockname()[1], TOKEN)
        thread.join()


def test_what_proves_one_conversation_proves_no_other(listener: Listener) -> None:
    """The learner's own proof, and one of another connection, are not an actor's."""
    recorded: list[dict[str, str]] = []
    first = Wire(dial(listener))
    original = first.write_message
    first.write_message = lambda message, **more: (recorded.append(message), original(message, **more))[1]  # type: ignore[method-assign]
    greet_learner(first, TOKEN, "first", None, soon())
    second = Wire(dial(listener))
    second.write_message(recorded[0])
    second.read_message(soon(), 4096)
    second.write_message(recorded[1])
    assert second.read_message(soon(), 4096) == {"refused": "wrong token"}


def test_the_token_is_never_sent(listener: Listener) -> None:
    seen = bytearray()
    wire = Wire(dial(listener))
    real = wire._socket.sendmsg

    class Watched:
        def __getattr__(self, name: str) -> object:
            return getattr(real.__self__, name)

        def sendmsg(self, views: list[memoryview]) -> int:
            seen.extend(b"".join(views))
            return real(views)

    wire._socket = Watched()  # type: ignore[assignment]
    greet_learner(wire, TOKEN, "mine", None, soon())
    assert b'"proof"' in seen
    assert TOKEN.encode() not in seen


@pytest.mark.parametrize("which", ["gymnast", "protocol"])
def test_another_version_is_refused_on_both_sides(
    listener: Listener, which: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with dial(listener) as guest:
        guest.sendall(hello(**{which: "0.0.1" if which == "gymnast" else 99}))
        head = HEADER.unpack(guest.recv(HEADER.size, socket.MSG_WAITALL))
        refused = json.loads(guest.recv(head[-1], socket.MSG_WAITALL))["refused"]
    theirs = f"0.0.1 (protocol {PROTOCOL})" if which == "gymnast" else f"{__version__} (protocol 99)"
    assert f"the actor has Gymnast {theirs}, the learner {__version__} (protocol {PROTOCOL})" in refused
    assert "install the same version on both" in logged(caplog, "Gymnast")


def test_an_actor_of_another_version_says_so(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(dial(listener))
    real = wire.write_message
    monkeypatch.setattr(
        wire, "write_message", lambda message, **more: real(message | {"gymnast": "9"}, **more)
    )
    with pytest.raises(Refused, match=r"the actor has Gymnast 9 \(protocol 1\)"):
        greet_learner(wire, TOKEN, "mine", None, soon())


def test_an_actor_for_too_few_envs_is_told_how_many_it_takes(listener: Listener) -> None:
    listener.fewest_envs = 8
    with pytest.raises(GymnastError, match="at most 2 envs, and places here have 8: start it with --envs 8"):
        serve(*listener.address, TOKEN, most_envs=2)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "not of Gymnast's protocol"),
        (bytes(64), "not of Gymnast's protocol"),
        (frame(b"", 1 << 31), "a frame of 2,147,483,648 bytes was announced; at most 4,096 are allowed"),
        (frame(b"{not json"), "not JSON"),
        (frame(b"[" * 3000), "not JSON"),
        (frame(b"[1, 2]"), "did not say what it is"),
        (frame(b'{"gymnast": 1}'), "did not say what it is"),
        (hello(pid="1; rm"), "did not say what it is"),
        (hello(envs=-3), "did not say what it is"),
        (hello(gymnast="\x1b[2J\nforged line"), "the actor has Gymnast ?[2J?forged line"),
        (hello()[:40], "the connection was closed"),
        (hello() + frame(b'{"proof": "\\u00e9"}'), "wrong token"),
    ],
    ids=[
        *("http", "zeros", "huge", "no json", "deep json", "a list", "no protocol", "pid", "envs", "escapes"),
        *("cut off", "proof"),
    ],
)
def test_garbage_is_refused(
    listener: Listener, sent: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with dial(listener) as guest:
        guest.sendall(sent)
        with suppress(OSError):  # refused, and the connection is gone already
            guest.shutdown(socket.SHUT_WR)
        assert reason in logged(caplog, "refused an actor at 127.0.0.1:")
    assert is_let_in(listener)


def test_who_says_next_to_nothing_is_let_go_in_time(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A byte now and then keeps no connection open, and actors get in beside it."""
    monkeypatch.setattr(remote_listener, "_GREETING_SECONDS", 3.0)
    with dial(listener) as slow:
        began = time.monotonic()
        closed = False
        for byte in hello():
            try:
                slow.sendall(bytes([byte]))
            except OSError:
                closed = True
                break
            time.sleep(0.05)
            if len(caplog.messages) == 0 and time.monotonic() - began < 0.2:
                assert is_let_in(listener)
        assert closed
        assert time.monotonic() - began < 30
    assert "breaks off" in logged(caplog, "refused an actor")


def test_a_crowd_is_turned_away(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    crowd = [dial(listener) for _ in range(40)]
    assert logged(caplog, "too many dial in at once")
    for guest in crowd:
        guest.close()
    for _ in range(100):  # a scanner does not fill the log
        dial(listener).close()
    end = soon()
    while listener._refusals < 100 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(caplog.messages) == 50
    assert caplog.messages[-1].endswith("further ones are not logged")
    assert is_let_in(listener)


class FakeActor:
    """One that knows the token and answers as a test wants."""

    def __init__(self, envs: RemoteEnvs, name: str = "fake") -> None:
        self.wire = Wire(dial(envs.listener))
        greet_learner(self.wire, envs.listener.token, name, None, soon())


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"\x00" * 200, "not of Gymnast's protocol"),
        (HEADER.pack(0x7967, Answer.DONE, 2, 0, 3) + b"abc", "does not fit these envs"),
        (HEADER.pack(0x7967, Answer.DONE, 2, 0, 1 << 30), "was announced"),
        (HEADER.pack(0x7967, Answer.DONE, 77, 0, 0), "answered what was not asked"),
        (HEADER.pack(0x7967, 42, 2, 0, 0), "answered what was not asked"),
        (HEADER.pack(0x7967, Answer.FAILED, 2, 0, 4) + b"oops", "not JSON"),
        (HEADER.pack(0x7967, Answer.DONE, 2, 0, 26), "closed"),
    ],
    ids=["garbage", "short", "huge", "number", "kind", "no json", "cut off"],
)
def test_a_wrong_or_truncated_frame_costs_the_actor_its_place(
    reply: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = EnvConfig(id="CartPole-v1", actors={"count": 1}, restarts={"backoff": 0, "timeout": "5s"})
    envs = build_envs(config, n_envs=1, seed=0, backend="remote")
    assert isinstance(envs, RemoteEnvs)
    try:
        envs.reset()
        fake = FakeActor(envs)
        envs._starter.end(envs._workers[0].actor.name, 0.0)  # type: ignore[union-attr, attr-defined]

        def play() -> None:
            order = fake.wire.read_message(soon(60), 1 << 24)
            assert order["config"]["id"] == "CartPole-v1"
            assert "token" not in json.dumps(order).replace("token_file", "")
            fake.wire.write_message({"layout": envs._workers[0]._layout, "gymnasium": "?"})  # type: ignore[attr-defined]
            reset = fake.wire.read_header(soon(60), 0)
            assert reset.kind in (Command.RESET_0, Command.RESET_1)
            fake.wire.write(Answer.DONE, [memoryview(bytes(16))], number=reset.number)
            step = fake.wire.read_header(soon(60), 64)
            assert step.kind <= Command.STEP_1
            fake.wire.read([memoryview(bytearray(step.length))], soon())
            fake.wire._socket.sendall(reply)
            fake.wire.close()

        actor = threading.Thread(target=play)
        actor.start()
        go = np.zeros(1, np.int64)
        assert envs.step(go).lost is not None  # the first one is gone, and the fake takes its place
        step = envs.step(go)
        actor.join()
        assert step.lost is not None
        assert step.lost.tolist() == [True]
        assert reason in caplog.messages[-1]
        assert envs.step(go).lost is None
        assert envs.restarts == 2
    finally:
        envs.close()


def test_an_env_of_another_shape_is_found_before_the_first_step() -> None:
    envs = build_envs(
        EnvConfig(id="CartPole-v1", actors={"count": 1}, restarts={"backoff": 0}),
        n_envs=1,
        seed=0,
        backend="remote",
    )
    assert isinstance(envs, RemoteEnvs)
    try:
        link = envs._workers[0]
        assert link._checked({"layout": link._layout, "gymnasium": "?"})  # type: ignore[attr-defined]
        said = link._checked({"layout": ["<f4 [5]", "<i8 []"]})  # type: ignore[attr-defined]
        assert "another version of this env" in said["error"]
        assert "<f4 [5] and <i8 [], here they are <f4 [4] and <i8 []" in said["error"]
    finally:
        envs.close()


def test_reading_stops_at_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(b"abc")
    began = time.monotonic()
    # A pair of UNIX sockets has no TCP options.
    wire = object.__new__(Wire)
    ours.setblocking(False)
    wire._socket = ours
    wire._readable = select.poll()
    wire._readable.register(ours, select.POLLIN)
    with pytest.raises(WireError, match="breaks off"):
        wire.read([memoryview(bytearray(8))], time.monotonic() + 0.2)
    assert 0.15 < time.monotonic() - began < 30
    ours.close()
    theirs.close()
