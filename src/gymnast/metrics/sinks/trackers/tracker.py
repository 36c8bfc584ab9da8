"""A tracker as a run sees it: a sink that never waits, and never fails the run.

What goes wrong is reported once; the run continues without the tracker. The threads here never call a
listener of the run: what they have to say is passed on by the training thread.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from gymnast.errors import GymnastError
from gymnast.metrics.sinks.sink import Sink
from gymnast.metrics.sinks.trackers.histograms import SHOWN
from gymnast.metrics.sinks.trackers.process import OUT_OF_TIME
from gymnast.metrics.sinks.trackers.rows import BoundedQueue, Event, RowPacker
from gymnast.metrics.sinks.trackers.settings import TrackerSettings
from gymnast.processes.messages import has_arrived, receive, send
from gymnast.processes.start import end_group, how_it_ended, start_detached
from gymnast.redact import redact
from gymnast.runs.files import read_json, write_atomic
from gymnast.runs.store import RunFolder

if TYPE_CHECKING:
    from gymnast.metrics.alerts.alert import Alert
    from gymnast.metrics.sinks.console import RunHeader
    from gymnast.training.report import Report
    from gymnast.training.run.outcome import Outcome

SEND_SECONDS = 0.2  # between messages: each wakes two processes
DROPPED = "time/tracker_dropped"
EXIT_CODES = {"solved": 0, "finished": 0, "failed": 1, "interrupted": 255}
_SLOW_SECONDS = 1.0  # of finishing, after which the user is told what is waited for
_LEAVING_SECONDS = 0.5  # for a process that has delivered everything, beyond its limit

_trackers_json = threading.Lock()  # several trackers of one run write it


class Tracker(Sink):
    """Feeds one tracker. Its process starts when training does."""

    def __init__(self, run: RunFolder, name: str, settings: TrackerSettings) -> None:
        if os.name != "posix":
            raise GymnastError(f"sinks: {name} needs Linux or macOS")
        self.name = name
        self._run = run
        self._settings = settings
        self._queue = BoundedQueue()
        self._lost = 0  # rows that came after the tracker had failed
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connected = self._failed = False
        self._abandoned = False
        self._warnings: list[str] = []  # to be passed on; there is one at most
        self._warned = False
        self._active: dict[str, str] = {}  # alerts by id, with their severity
        self._raised: dict[str, int] = {}  # how often each alert was raised
        self._end: dict[str, Any] | None = None
        self._deadline = 0.0

    @property
    def dropped(self) -> int:
        """Rows that this tracker never gets."""
        return self._queue.dropped + self._lost

    def row_metrics(self) -> Mapping[str, int]:
        return {DROPPED: self.dropped}

    def started(self, header: RunHeader) -> None:
        order = {
            "start": {
                "backend": self._settings.backend,
                "settings": self._settings.model_dump(),
                "run": {
                    "id": header.run_id,
                    "path": str(Path(header.path).absolute()),
                    "name": header.name,
                    "algo": header.algo.lower(),
                    "env": header.env_id,
                    "env_steps": header.env_steps,
                },
                "config": dict(header.config),
                "known": self._known(),
                "pid": os.getpid(),
            }
        }
        self._thread = threading.Thread(
            target=self._serve, args=(order,), name=f"tracker-{self.name}", daemon=True
        )
        self._thread.start()

    def take(self, report: Report) -> None:
        if self._warnings:
            self._pass_on()
        if self._failed:
            self._lost += 1
            return
        if report.distributions is not None:  # before the row that they belong to
            shown = {name: array.tolist() for name, array in report.distributions.items() if name in SHOWN}
            self._event({"distributions": shown, "labels": dict(report.distributions.labels)})
        self._queue.put(report.row)
        if report.alerts or self._active:
            self._take_alerts(report.alerts, report.env_steps)

    def video(self, path: Path, env_steps: int) -> None:
        self._event({"video": str(path.absolute()), "env_steps": env_steps})

    def checkpoint(self, env_steps: int, reason: str) -> None:
        self._event({"checkpoint": env_steps, "reason": reason})

    def ended(self, outcome: Outcome) -> None:
        self._end = {
            "status": outcome.status,
            "reason": redact(outcome.reason),
            "exit_code": EXIT_CODES[outcome.status],
            "summary": {
                "solved": outcome.solved,
                "status": outcome.status,
                "best_score": outcome.best_score,
                "last_score": outcome.last_score,
                "env_steps": outcome.env_steps,
                "seconds": outcome.seconds,
                **({"alerts": dict(sorted(self._raised.items()))} if self._raised else {}),
            },
        }
        self._deadline = time.monotonic() + self._settings.finish_seconds
        self._queue.wake()

    def deliver(self, note: Callable[[str], None]) -> None:
        thread = self._thread
        if thread is None or self._end is None:
            return
        thread.join(min(_SLOW_SECONDS, self._settings.finish_seconds))
        if thread.is_alive() and (left := self._deadline - time.monotonic()) > _SLOW_SECONDS:
            note(
                f"{self.name} is still receiving this run: waiting {left:.0f} s at most; Ctrl-C does not wait"
            )
        thread.join(max(0.0, self._deadline - time.monotonic()))
        if thread.is_alive():
            self._abandon()
            self._warn_of_rest()
        self._pass_on()

    def close(self) -> None:
        """Where nobody waited: a process that knows of the run's end is left to finish by itself, one that
        does not is ended."""
        if self._thread is None or self._abandoned:
            return
        if self._end is None:
            self._abandon()
        self._thread.join(_LEAVING_SECONDS)

    def _pass_on(self) -> None:
        """What the thread has to say, in the training thread, whose listeners it is for."""
        while self._warnings:
            logging.getLogger("gymnast").warning("%s", self._warnings.pop(0))

    def _event(self, message: dict[str, Any]) -> None:
        if not self._failed:
            self._queue.put(Event(message))

    def _take_alerts(self, alerts: tuple[Alert, ...], env_steps: int) -> None:
        """An alert is passed on when it is raised or becomes worse, not as long as it is active."""
        now = {alert.id: alert.severity for alert in alerts}
        for alert in alerts:
            if self._active.get(alert.id) != alert.severity:
                self._raised[alert.id] = self._raised.get(alert.id, 0) + 1
                shown = {"id": alert.id, "severity": alert.severity, "metric": alert.metric}
                texts = {"message": alert.message, "advice": alert.advice}
                self._event({"alert": shown | texts, "env_steps": env_steps})
        self._active = dict(now)

    def _abandon(self) -> None:
        self._failed = self._abandoned = True
        if self._process is not None:
            end_group(self._process)

    def _known(self) -> dict[str, Any]:
        """What trackers.json has of this tracker."""
        known = (read_json(self._run.trackers_path) or {}).get(self.name)
        return known if isinstance(known, dict) else {}

    # What follows runs in the tracker's own thread.

    def _serve(self, order: dict[str, Any]) -> None:
        try:
            ours, theirs = socket.socketpair()
            with TemporaryFile() as output, ours:
                with theirs:
                    target = "gymnast.metrics.sinks.trackers.process:main"
                    self._process = start_detached(target, (theirs.fileno(),), output=output)
                if self._abandoned:
                    end_group(self._process)
                self._talk(ours.fileno(), order, self._process, output)
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")
        self._queue.take()  # of a tracker that failed: nobody reads them any more

    def _talk(
        self, fd: int, order: dict[str, Any], process: subprocess.Popen[bytes], output: IO[bytes]
    ) -> None:
        packer = RowPacker()
        try:
            send(fd, order)
            while not self._failed:
                self._queue.wait(SEND_SECONDS)
                end = self._end  # before the queue is emptied: nothing is put into it afterwards
                for message, attached in packer.packed(self._queue.take()):
                    send(fd, message, attached)
                if end is not None:
                    send(fd, {"end": end, "seconds": self._settings.finish_seconds})
                    while self._received(receive(fd)):
                        pass
                    break
                while has_arrived(fd):
                    if not self._received(receive(fd)):
                        break
        except (EOFError, OSError):
            with suppress(EOFError, OSError):  # what it said last
                while self._received(receive(fd)):
                    pass
            code = process.wait()
            if code == OUT_OF_TIME and self._end is not None:  # it may notice a moment before `deliver` does
                self._warn_of_rest()
            else:
                self._fail(f"its process {how_it_ended(code)}{_last_line(output)}")
        try:
            process.wait(max(0.0, self._deadline - time.monotonic()) + _LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            end_group(process)

    def _received(self, message: dict[str, Any]) -> bool:
        """What the process says; whether there is more to come."""
        if "warning" in message:
            self._warn(f"{self.name}: {redact(message['warning'])}")
        if "failed" in message:
            self._fail(message["failed"])
            return False
        if "connected" in message:
            self._connected = True
            with _trackers_json:
                known = read_json(self._run.trackers_path) or {}
                known[self.name] = message["connected"]
                write_atomic(self._run.trackers_path, json.dumps(known, indent=2) + "\n", durable=False)
        return "done" not in message

    def _fail(self, text: str) -> None:
        if not self._failed:
            self._failed = True
            self._warn(f"{self.name}: {redact(text)}; training continues without it")

    def _warn_of_rest(self) -> None:
        what = "had not received everything" if self._connected else "was not ready"
        self._warn(
            f"{self.name} {what} {self._settings.finish_seconds:g} s after the end, and was left; "
            "metrics.csv has it all (sinks: finish_seconds gives it longer)"
        )

    def _warn(self, text: str) -> None:
        """What goes wrong first is what matters; what follows from it is seen in the dropped rows."""
        if not self._warned:
            self._warned = True
            self._warnings.append(text)


def _last_line(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - 4096))
    lines = output.read().decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:300]}" if said else ""
