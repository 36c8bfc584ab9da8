"""Trials on this machine: a few warm processes, each with one thread."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, Any

from gymnast.errors import GymnastError
from gymnast.processes.messages import has_arrived, receive, send
from gymnast.processes.start import Child, how_it_ended, start_child
from gymnast.redact import redact
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import runs_root
from gymnast.trials.trial import Trial, TrialState

_LAST_LINES = 40  # of the output of a process that died; where it crashed takes some thirty
_BEGINS_WITHIN = 60.0  # seconds for a process to start, whatever limit a trial has
_LEAVES_WITHIN = 5.0  # seconds for a trial that is asked to stop, when the pool closes


@dataclass(slots=True)
class _Worker:
    """One process and what it trains."""

    child: Child
    link: socket.socket
    output: IO[bytes]
    trial: Trial | None = None
    env_steps: int = 0
    heard: float = 0.0  # when it last reported progress
    begun: bool = False  # whether it has reported anything of this trial
    stopping: bool = field(default=False)


class LocalPool:
    """An `Executor`. A trial whose process dies or hangs costs itself alone: the process is replaced.

    The processes end with this one, also when it is killed.
    """

    def __init__(self, workers: int, runs_dir: str | Path | None = None) -> None:
        if os.name != "posix":
            raise GymnastError("trials in processes of their own need Linux or macOS")
        if workers < 1:
            raise GymnastError(f"{workers} workers cannot train anything; give a number from 1")
        self._root = runs_root(runs_dir).resolve()
        self._root.mkdir(parents=True, exist_ok=True)
        self._capacity = workers
        self._queue: deque[Trial] = deque()
        self._changed: dict[str, TrialState] = {}
        self._workers: list[_Worker] = []
        self._closed = False
        try:
            for _ in range(workers):
                self._workers.append(self._new_worker())
        except BaseException:
            self.close()
            raise

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def exhausted(self) -> None:
        return None

    def submit(self, trial: Trial) -> None:
        if self._closed:
            raise GymnastError("this pool is closed")
        if not RUN_ID.fullmatch(trial.run_id):
            raise GymnastError(f"{trial.run_id!r} is not a run id")
        under_way = [worker.trial for worker in self._workers if worker.trial is not None]
        if any(known.run_id == trial.run_id for known in (*self._queue, *under_way)):
            raise GymnastError(f"run {trial.run_id} is being trained by this pool already")
        self._queue.append(trial)
        self._say(TrialState(trial.run_id, "queued"))
        self._hand_out()

    def poll(self, seconds: float = 0.0) -> list[TrialState]:
        deadline = time.monotonic() + seconds
        while True:
            self._listen(0.0)
            self._end_hung()
            self._hand_out()
            left = deadline - time.monotonic()
            if self._changed or left <= 0 or not self._busy():
                break
            self._listen(min(left, 0.5))
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def stop(self, run_id: str) -> None:
        for trial in list(self._queue):
            if trial.run_id == run_id:
                self._queue.remove(trial)
                self._say(TrialState(run_id, "stopped", message="it had not begun"))
        for worker in self._workers:
            if worker.trial is not None and worker.trial.run_id == run_id and not worker.stopping:
                worker.stopping = True
                with suppress(OSError):  # it died just now, which `poll` finds
                    send(worker.link.fileno(), {"stop": True})

    def close(self) -> None:
        """Have all trials save and stop, for a few seconds; then end the processes."""
        self._closed = True
        self._queue.clear()
        for worker in self._busy():
            assert worker.trial is not None
            self.stop(worker.trial.run_id)
        deadline = time.monotonic() + _LEAVES_WITHIN
        while self._busy() and time.monotonic() < deadline:
            self._listen(0.1)
        for worker in self._workers:
            self._end(worker)
        self._workers.clear()

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.trial is not None]

    def _say(self, state: TrialState) -> None:
        self._changed[state.run_id] = state

    def _new_worker(self) -> _Worker:
        ours, theirs = socket.socketpair()
        output = TemporaryFile(mode="ab+", buffering=0)  # noqa: SIM115  - open as long as the process lives
        with theirs:
            child = start_child(
                "gymnast.trials.worker:main",
                (theirs.fileno(),),
                (str(self._root),),
                one_thread=True,
                stdout=output,
                stderr=output,
            )
        return _Worker(child, ours, output)

    def _hand_out(self) -> None:
        """Give waiting trials to processes that have none."""
        for place, worker in enumerate(self._workers):
            if not self._queue:
                return
            if worker.trial is not None:
                continue
            trial = self._queue.popleft()
            os.ftruncate(worker.output.fileno(), 0)
            try:
                send(worker.link.fileno(), {"trial": trial.to_json()})
            except OSError:  # it died while it had nothing to do
                self._end(worker)
                worker = self._workers[place] = self._new_worker()
                send(worker.link.fileno(), {"trial": trial.to_json()})
            worker.trial, worker.env_steps = trial, 0
            worker.stopping = worker.begun = False
            worker.heard = time.monotonic()
            self._say(TrialState(trial.run_id, "running"))

    def _listen(self, seconds: float) -> None:
        """Take in what processes say; those that are gone are replaced."""
        waiting = select.poll()
        by_number = {worker.link.fileno(): worker for worker in self._busy()}
        for number in by_number:
            waiting.register(number, select.POLLIN)
        for number, _ in waiting.poll(seconds * 1000):
            worker = by_number[number]
            try:
                while worker.trial is not None and has_arrived(number):
                    self._take(worker, receive(number))
            except (EOFError, OSError):
                self._lost(worker)

    def _take(self, worker: _Worker, message: dict[str, Any]) -> None:
        assert worker.trial is not None
        run_id = worker.trial.run_id
        worker.heard, worker.begun = time.monotonic(), True
        worker.env_steps = int(message["env_steps"])
        if "ended" in message:
            worker.trial = None
            self._say(TrialState(run_id, message["ended"], worker.env_steps, message["message"]))
        else:
            self._say(TrialState(run_id, "running", worker.env_steps))

    def _lost(self, worker: _Worker) -> None:
        assert worker.trial is not None
        try:
            code = worker.child.process.wait(timeout=2.0)
        except TimeoutExpired:  # it closed its link and lives on
            worker.child.kill()
            code = -signal.SIGKILL
        message = f"its process {how_it_ended(code)}{_last_lines(worker.output)}"
        self._replace(worker, TrialState(worker.trial.run_id, "lost", worker.env_steps, message))

    def _end_hung(self) -> None:
        now = time.monotonic()
        for worker in self._busy():
            assert worker.trial is not None
            limit = worker.trial.no_progress_limit
            if limit is not None and now - worker.heard > (limit if worker.begun else limit + _BEGINS_WITHIN):
                worker.child.kill()
                message = f"no sign of life for {limit:g} s, so it was ended{_last_lines(worker.output)}"
                self._replace(worker, TrialState(worker.trial.run_id, "failed", worker.env_steps, message))

    def _replace(self, worker: _Worker, state: TrialState) -> None:
        place = self._workers.index(worker)
        worker.trial = None
        self._end(worker)
        self._workers[place] = self._new_worker()
        self._say(state)

    def _end(self, worker: _Worker) -> None:
        worker.link.close()  # an idle process leaves when it reads the end
        worker.child.end(0.5)
        worker.output.close()


def _last_lines(output: IO[bytes]) -> str:
    size = os.fstat(output.fileno()).st_size
    tail = os.pread(output.fileno(), 20_000, max(0, size - 20_000)).decode(errors="replace")
    lines = tail.strip().splitlines()[-_LAST_LINES:]
    return "".join(f"\n{redact(line)}" for line in lines)
