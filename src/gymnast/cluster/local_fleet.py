"""Actors as processes of this machine, over pipes: the same way of training without Ray."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from gymnast.cluster.wire import packed, unpacked
from gymnast.processes.messages import receive_attached, send
from gymnast.processes.start import how_it_ended, start_child
from gymnast.rollout.remote_fleet import ActorLost, Answer, Arrays

_CLOSE_SECONDS = 2.0


class _Actor:
    """One process. A thread hands it messages one after the other, so that nobody waits for a full pipe."""

    def __init__(self) -> None:
        command_read, self._command_fd = os.pipe()
        self._answer_fd, answer_write = os.pipe()
        theirs = (command_read, answer_write)
        self._child = start_child("gymnast.cluster.local_process:main", theirs, one_thread=True)
        self.pid = self._child.process.pid
        for fd in theirs:
            os.close(fd)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gymnast-actor")
        self._closed = False

    def submit(self, message: dict[str, Any], arrays: Arrays, shared: Any) -> Future[Answer]:
        return self._thread.submit(self._ask, message, packed(arrays), shared or ([], b""))

    def _ask(self, message: dict[str, Any], arrays: Any, shared: Any) -> Answer:
        head = {"message": message, "arrays": arrays[0], "size": len(arrays[1]), "shared": shared[0]}
        try:
            send(self._command_fd, head, arrays[1] + shared[1])
            answer, data = receive_attached(self._answer_fd)
        except (OSError, EOFError):
            if self._closed:
                raise ActorLost("it was stopped") from None
            raise ActorLost(self._last_words()) from None
        return Answer(answer["data"], unpacked(answer["arrays"], data))

    def _last_words(self) -> str:
        self._child.end(_CLOSE_SECONDS)
        return f"the actor process {how_it_ended(self._child.process.returncode)}"

    def stop(self, *, kill: bool) -> None:
        if self._closed:
            return
        self._closed = True
        if kill:
            self._child.kill()
        else:
            os.close(self._command_fd)  # it closes its envs and leaves
            self._child.end(_CLOSE_SECONDS)
        self._child.release()
        self._thread.shutdown(cancel_futures=True)
        if kill:
            os.close(self._command_fd)
        os.close(self._answer_fd)


class LocalFleet:
    """Up to so many processes."""

    kind = "local"

    def __init__(self, most: int) -> None:
        self._most = most
        self._actors: dict[int, _Actor] = {}
        self._started = 0

    def room(self) -> int:
        return self._most - len(self._actors)

    def start(self) -> int:
        number = self._started
        self._actors[number] = _Actor()
        self._started += 1
        return number

    def stop(self, process: int) -> None:
        if (actor := self._actors.pop(process, None)) is not None:
            actor.stop(kill=True)

    def pid(self, process: int) -> int:
        return self._actors[process].pid

    def share(self, arrays: Arrays) -> Any:
        return packed(arrays)

    def submit(
        self, process: int, message: dict[str, Any], arrays: Arrays, shared: Any = None
    ) -> Future[Answer]:
        if (actor := self._actors.get(process)) is not None:
            return actor.submit(message, arrays, shared)
        lost: Future[Answer] = Future()
        lost.set_exception(ActorLost("the actor process is gone"))
        return lost

    def wait(self, tickets: list[Future[Answer]], seconds: float) -> list[Future[Answer]]:
        return list(wait(tickets, seconds, FIRST_COMPLETED).done)

    def result(self, ticket: Future[Answer]) -> Answer:
        return ticket.result()

    def close(self) -> None:
        actors, self._actors = self._actors, {}
        for actor in actors.values():
            actor.stop(kill=False)
