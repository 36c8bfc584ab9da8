"""One env worker as the main process sees it: a process of its own, its pipes, and whether it still answers.

Workers are started as programs of their own and not through `multiprocessing`: nothing of the
main process (threads, torch, a `__main__` without a guard) is copied or run again in them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

from gymnast.envs.backends.shared_block import receive, send

_CLOSE_SECONDS = 1.0  # what a worker gets to close its envs before it is killed
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from gymnast.envs.backends.worker_process import main; main(*map(int, sys.argv[2:]))"
)


class WorkerLost(Exception):
    """A worker died, or gave no answer in time; says which of the two, and how."""


class Worker:
    """One process, the pipes to it, and the envs that are its share."""

    def __init__(self, rows: tuple[int, int], memory_fd: int) -> None:
        self.rows = rows
        self.lost: str | None = None  # why it cannot be asked any more
        command_read, self.command_fd = os.pipe()
        self.answer_fd, answer_write = os.pipe()
        lifeline_read, self.lifeline_fd = os.pipe()
        theirs = (command_read, answer_write, memory_fd, lifeline_read)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), *map(str, theirs)],
            pass_fds=theirs,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C and hang-up go to the main process alone
        )
        # Kept by the child alone, so that its death closes them.
        for fd in (command_read, answer_write, lifeline_read):
            os.close(fd)
        self._answers = select.poll()
        self._answers.register(self.answer_fd, select.POLLIN)

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
        if code < 0:
            return f"the worker process was killed by {signal.Signals(-code).name}"
        return f"the worker process ended with code {code}"

    def _lose(self, reason: str) -> WorkerLost:
        """Give the process up, so that nothing of it is left: it may hang, or live on through children."""
        self.lost = reason
        self.kill()
        self.close_pipes()
        return WorkerLost(reason)

    def kill(self) -> None:
        """End it and what its envs started: it leads a session of its own, which has its number."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close_pipes(self) -> None:
        for fd in (self.command_fd, self.answer_fd, self.lifeline_fd):
            os.close(fd)


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
