"""Where a learner listens: whoever dials in and proves that it is an actor of this run waits for a place."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gymnast.envs.backends.remote_handshake import ActorInfo, Refused, greet_actor
from gymnast.envs.backends.remote_wire import Kind, Wire, WireError
from gymnast.errors import GymnastError

_GREETING_SECONDS = 10.0  # from dialling in to having proved the token; who needs longer is let go
_MOST_GREETED = 32  # at once; more are turned away
_MOST_REFUSALS_LOGGED = 50  # a scanner must not fill the disk
_POLITE_SECONDS = 1.0  # to take in that it is over


@dataclass(frozen=True, slots=True)
class Arrived:
    """An actor that may be given work."""

    info: ActorInfo
    wire: Wire
    address: str


class Listener:
    """Accepts actors in a thread of its own; a bad guest takes nothing from the learner but a log line."""

    def __init__(self, host: str, port: int, token: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._server = socket.create_server((host, port), family=family, backlog=64)
        except OSError as error:
            raise GymnastError(
                f"env.actors.listen {host}:{port}: cannot listen there: {error.strerror or error};"
                " another port, or 0 for any that is free, may do"
            ) from None
        self.address: tuple[str, int] = self._server.getsockname()[:2]
        self.token = token
        self.fewest_envs = 1  # that an actor must be able to take
        self.pending = 0  # places that wait to be filled
        self.users = 0  # sets of envs that take actors from here
        self._idle: deque[Arrived] = deque()
        self._changed = threading.Condition()
        self._greeted = threading.BoundedSemaphore(_MOST_GREETED)
        self._refusals = 0
        self._closed = False
        threading.Thread(target=self._accept, name="actors", daemon=True).start()

    @property
    def idle(self) -> int:
        """Actors that wait for a place."""
        return len(self._idle)

    def take(self, n_envs: int, seconds: float) -> Arrived | None:
        """An actor that can have so many envs, waited for so long."""
        until = time.monotonic() + seconds
        with self._changed:
            while True:
                for actor in list(self._idle):
                    if actor.wire.has_arrived(time.monotonic()):  # it has nothing to say: it is gone
                        self._idle.remove(actor)
                        actor.wire.close()
                    elif actor.info.most_envs is None or actor.info.most_envs >= n_envs:
                        self._idle.remove(actor)
                        return actor
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)

    def _accept(self) -> None:
        while True:
            try:
                connection, (host, port, *_) = self._server.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.1)  # out of descriptors, or it hung up before it was accepted
                continue
            where = f"{host}:{port}"
            if not self._greeted.acquire(blocking=False):
                connection.close()
                self._log_refusal(where, "too many dial in at once")
                continue
            greeting = threading.Thread(target=self._greet, args=(connection, where), daemon=True)
            greeting.start()

    def _greet(self, connection: socket.socket, where: str) -> None:
        wire = None
        try:
            wire = Wire(connection)
            info = greet_actor(wire, self.token, self.fewest_envs, time.monotonic() + _GREETING_SECONDS)
        except (Refused, WireError, OSError) as error:
            (connection if wire is None else wire).close()
            self._log_refusal(where, str(error))
            return
        finally:
            self._greeted.release()
        with self._changed:
            if not self._closed:
                self._idle.append(Arrived(info, wire, where))
                self._changed.notify_all()
                return
        dismiss(wire)

    def _log_refusal(self, where: str, why: str) -> None:
        with self._changed:  # one after the other, so that the last one logged says so
            self._refusals += 1
            if self._refusals > _MOST_REFUSALS_LOGGED:
                return
            last = "; further ones are not logged" if self._refusals == _MOST_REFUSALS_LOGGED else ""
            logging.getLogger("gymnast").warning("refused an actor at %s: %s%s", where, why, last)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            idle = list(self._idle)
            self._idle.clear()
        with contextlib.suppress(OSError):  # wakes `accept`
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for actor in idle:
            dismiss(actor.wire)


def dismiss(wire: Wire) -> None:
    """Let an actor go: there is nothing more to do."""
    with contextlib.suppress(WireError):
        wire.write(Kind.END, deadline=time.monotonic() + _POLITE_SECONDS)
    wire.close()


_open: dict[tuple[str, int], Listener] = {}
_lock = threading.Lock()


def open_listener(host: str, port: int, token: str, fewest_envs: int) -> Listener:
    """Listen there; groups of envs, and tasks of a mix, that name the same port share it."""
    with _lock:
        listener = _open.get((host, port))
        if listener is None:
            listener = Listener(host, port, token)
            listener.fewest_envs = fewest_envs
            _open[listener.address if port == 0 else (host, port)] = listener
        elif listener.token != token:
            raise GymnastError(f"env.actors.listen {host}:{port} is taken by envs with another token")
        listener.fewest_envs = min(listener.fewest_envs, fewest_envs)
        listener.users += 1
        return listener


def release(listener: Listener) -> None:
    """One of those that share it needs it no more."""
    with _lock:
        listener.users -= 1
        if listener.users == 0:
            for key in [key for key, known in _open.items() if known is listener]:
                del _open[key]
            listener.close()


@contextmanager
def listening(host: str, port: int, token: str) -> Iterator[Listener]:
    """For as long as the block lasts."""
    listener = open_listener(host, port, token, 1)
    try:
        yield listener
    finally:
        release(listener)
