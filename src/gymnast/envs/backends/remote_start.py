"""Who starts actors: this process, on its own machine, or whoever knows of other machines.

A cluster's launcher implements `ActorStarter` and trains inside `actors_started_by(starter)`.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from gymnast.processes.messages import send
from gymnast.processes.start import Child, how_it_ended, start_child

_CLOSE_SECONDS = 1.0  # what an actor gets to close its envs before it is killed


class ActorStarter(Protocol):
    """Starts actors that dial in: each calls `remote_actor.serve(host, port, token, name=name)`."""

    def start(self, name: str, address: tuple[str, int], token: str) -> None:
        """Start one more, without waiting for it. The address is the one that the learner is bound to."""

    def problem(self, name: str) -> str | None:
        """Why one that was started will never dial in ('ended with code 2'); None if it still may."""

    def end(self, name: str, seconds: float) -> str | None:
        """Give one up that was lost, if it is of this starter; how it ended, within so many seconds."""

    def close(self) -> None:
        """End all that are left: the envs are not needed any more."""


class LocalActors:
    """Actors as processes on this machine, which end with this one."""

    def __init__(self) -> None:
        self._children: dict[str, Child] = {}

    def start(self, name: str, address: tuple[str, int], token: str) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0])
        self._children[name] = start_actor_process(host, address[1], token, name)

    def problem(self, name: str) -> str | None:
        child = self._children.get(name)
        code = None if child is None else child.process.poll()
        return None if code is None else f"its process {how_it_ended(code)}"

    def end(self, name: str, seconds: float) -> str | None:
        child = self._children.pop(name, None)
        if child is None:
            return None
        try:
            how: str | None = how_it_ended(child.process.wait(timeout=seconds))
        except subprocess.TimeoutExpired:
            how = None
        child.kill()
        child.release()
        return how

    def close(self) -> None:
        children, self._children = list(self._children.values()), {}
        for child in children:
            child.release()
        until = time.monotonic() + _CLOSE_SECONDS
        for child in children:
            child.end(max(0.0, until - time.monotonic()))

    @property
    def process_ids(self) -> dict[str, int]:
        return {name: child.process.pid for name, child in self._children.items()}


def start_actor_process(
    host: str,
    port: int,
    token: str,
    name: str = "",
    *,
    most_envs: int | None = None,
    patience: float = 60.0,
    talks: bool = False,
) -> Child:
    """An actor in a process of its own. Its token goes through a pipe: arguments can be seen by everyone."""
    order_read, order_write = os.pipe()
    try:
        child = start_child("gymnast.envs.backends.remote_actor:main", (order_read,), one_thread=True)
    finally:
        os.close(order_read)
    order = {"host": host, "port": port, "token": token, "name": name, "most_envs": most_envs}
    try:
        send(order_write, order | {"patience": patience, "talks": talks})
    except BrokenPipeError:
        pass  # it ended at once: `problem` says so
    finally:
        os.close(order_write)
    return child


_starter: ActorStarter | None = None


@contextmanager
def actors_started_by(starter: ActorStarter) -> Iterator[None]:
    """Envs with the backend `remote` that are built meanwhile get their actors from this starter."""
    global _starter  # noqa: PLW0603  - `build_envs` is called from deep inside training
    before, _starter = _starter, starter
    try:
        yield
    finally:
        _starter = before


def given_starter() -> ActorStarter | None:
    return _starter
