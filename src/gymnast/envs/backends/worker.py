"""One env worker as the main process sees it: its process, its pipes, and whether it still answers."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from typing import Any, Protocol

from gymnast.processes.messages import receive, send
from gymnast.processes.start import how_it_ended, start_child

_CLOSE_SECONDS = 1.0  # what a worker gets to close its envs before it is killed


class WorkerLost(Exception):
    """A worker died, or gave no answer in time; says which of the two, and how."""


class Share(Protocol):
    """Whoever steps some of the envs, in a process here or elsewhere, as `workers.py` sees it."""

    rows: tuple[int, int]
    lost: str | None  # why it cannot be asked any more

    @property
    def pid(self) -> int: ...
    def command(self, command: bytes) -> None: ...
    def send(self, message: Any) -> None: ...
    def answer(self, seconds: float, since: float | None = None) -> int: ...
    def message(self, seconds: float) -> Any: ...


class Worker:
    """One process, the pipes to it, and the envs that are its share."""

    def __init__(self, rows: tuple[int, int], memory_fd: int) -> None:
        self.rows = rows
        self.lost: str | None = None  # why it cannot be asked any more
        command_read, self.command_fd = os.pipe()
        self.answer_fd, answer_write = os.pipe()
        theirs = (command_read, answer_write, memory_fd)
        self._child = start_child("gymnast.envs.backends.worker_process:main", theirs, one_thread=True)
        self.process = self._child.process
        # Kept by the child alone, so that its death closes them.
        for fd in (command_read, answer_write):
            os.close(fd)
        self._answers = select.poll()
        self._answers.register(self.answer_fd, select.POLLIN)

    @property
    def pid(self) -> int:
        return self.process.pid

    def command(self, command: bytes) -> None:
        if self.lost is None:
            with contextlib.suppress(BrokenPipeError):  # dead: reading its answer says so
                os.write(self.command_fd, command)

    def send(self, message: Any) -> None:
        if self.lost is None:
            with contextlib.suppress(BrokenPipeError):
                send(self.command_fd, message)

    def answer(self, seconds: float, since: float | None = None) -> int:
        """The byte that it answers with; WorkerLost if there is none within so many seconds (0: ever).

        They are counted from now, or from a moment of `time.monotonic` when it was asked with others.
        """
        self._wait(seconds, since)
        received = os.read(self.answer_fd, 1)
        if not received:
            raise self._lose(self._last_words())
        return received[0]

    def message(self, seconds: float) -> Any:
        """What it says in more than a byte; WorkerLost likewise."""
        self._wait(seconds)
        try:
            return receive(self.answer_fd)
        except EOFError:
            raise self._lose(self._last_words()) from None

    def _wait(self, seconds: float, since: float | None = None) -> None:
        if self.lost is not None:
            raise WorkerLost(self.lost)
        left = seconds if since is None else max(0.0, since + seconds - time.monotonic())
        if not self._answers.poll(left * 1000 if seconds else None):
            raise self._lose(f"the worker process gave no answer for {seconds:g} s")

    def _last_words(self) -> str:
        """How the process ended."""
        try:
            code = self.process.wait(timeout=_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            return "the worker process stopped answering"
        return f"the worker process {how_it_ended(code)}"

    def _lose(self, reason: str) -> WorkerLost:
        """Give the process up, so that nothing of it is left: it may hang, or live on through children."""
        self.lost = reason
        self.kill()
        self.close_pipes()
        return WorkerLost(reason)

    def kill(self) -> None:
        """End it and what its envs started."""
        self._child.kill()

    def close_pipes(self) -> None:
        for fd in (self.command_fd, self.answer_fd):
            os.close(fd)
        self._child.release()


def shut_down(workers: list[Worker]) -> None:
    """Let go of every worker at once, then see that each has ended."""
    alive = [worker for worker in workers if worker.lost is None]
    for worker in alive:
        worker.close_pipes()
    deadline = time.monotonic() + _CLOSE_SECONDS
    for worker in alive:
        try:
            worker.process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
    workers.clear()
