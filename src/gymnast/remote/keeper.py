"""What runs on a rented machine: it keeps one run training until the run is over, or the machine's time is.

The training itself is a process of its own (`trainer.py`), which does what `gymnast train --run-id ID
--continue` does. Here it is watched: after each checkpoint what changed goes to the volume. If the machine is
taken away, the same order arrives on another one, which resumes.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_columns
from gymnast.processes.start import Child, how_it_ended, start_child
from gymnast.remote.mirror import Mirror, fetch
from gymnast.remote.spec import TrainSpec
from gymnast.remote.state import RemoteState, read_state, write_state
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.files import write_atomic
from gymnast.runs.store import RunFolder
from gymnast.terminal.text import echo

AGAIN = 3  # the exit code of a training that was saved and is not over
PAUSED = 4  # of one that has reached the end of its leg
LOOK_SECONDS = 0.25
REPORT_SECONDS = 15.0
SAVE_SECONDS = 20.0  # a machine that is taken away leaves 30


class Crashed(Exception):
    """The training process was killed: worth another try, which whoever called decides on."""


@dataclass(slots=True)
class Keeper:
    """One attempt at a run: an order, the volume, and how to make its content last."""

    spec: TrainSpec
    volume: Path
    call: str
    commit: Callable[[], None]
    respawn: Callable[[], str]  # gives the same order again, and returns the new call

    def keep(self) -> RemoteState:
        """Train until the run is over or has to pause; the state that was written last."""
        before = read_state(self.volume, self.spec.run_id)
        if before.passed_on_by == self.call:  # the order arrived here again, after another call took it over
            return before
        left = None if self.spec.max_seconds is None else self.spec.max_seconds - before.seconds
        state = replace(before, state="running", call=self.call, reason="", attempts=before.attempts + 1)
        if left is not None and left <= 0:
            return self._end(replace(state, state="limit", reason=self._limit()))
        with TemporaryDirectory(prefix="gymnast-runs-") as folder:
            return self._train(state, RunFolder(Path(folder) / self.spec.run_id), left)

    def _train(self, state: RemoteState, run: RunFolder, left: float | None) -> RemoteState:
        began, paid = time.monotonic(), state.seconds
        order = run.root / "order.json"
        seconds = min(self.spec.attempt_seconds, left if left is not None else float("inf"))
        mirror = Mirror(run, self.volume / run.id)
        child: Child | None = None

        def report(**changes: str) -> RemoteState:
            nonlocal state
            state = replace(
                _as_seen(run, state),
                seconds=paid + time.monotonic() - began,
                **changes,  # type: ignore[arg-type]
            )
            mirror.update()
            self._write(state)
            return state

        try:
            self._write(state)
            fetch(RunFolder(self.volume / run.id), run.path)
            write_atomic(order, self.spec.to_text(), durable=False)
            child = start_child("gymnast.remote.trainer:main", (), (str(order), str(run.root), str(seconds)))
            code = self._watch(child, run, report)
        except KeyboardInterrupt:  # the machine is taken away; the same order arrives elsewhere
            _save(child)
            report(state="interrupted", reason="the machine was taken away")
            raise
        except Exception as error:  # of the volume or the disk: the same order arrives again
            _save(child)
            report(state="interrupted", reason=f"{type(error).__name__}: {error}")
            raise
        except BaseException:  # Modal's InputCancellation
            _save(child)
            report(state="stopped", reason="stopped on request")
            raise
        if code == 0:
            return report(state="done", reason=_reason(run))
        if code in (1, 2):
            return report(state="failed", reason=_reason(run) or _said(run.root))
        if code == PAUSED:
            return report(state="paused", reason="the end of its leg is reached")
        if code != AGAIN:
            how = how_it_ended(code)
            if not self.spec.retry_crashes:
                return report(state="crashed", reason=f"the training process {how}")
            report(state="interrupted", reason=f"the training process {how}")
            raise Crashed(f"the training process {how}; if it was out of memory, give it more with --memory")
        if seconds == left:
            return report(state="limit", reason=self._limit())
        report(state="again", reason="the time of this machine is over")
        return self._pass_on(state)

    def _pass_on(self, state: RemoteState) -> RemoteState:
        """Another call takes over. From then on nothing may fail here: this call would be tried again too."""
        state = replace(state, call=self.respawn(), passed_on_by=self.call)
        try:
            self._write(state)
        except Exception as error:
            echo(f"run {state.run} continues as {state.call}, which could not be noted: {error}", err=True)
        return state

    def _watch(self, child: Child, run: RunFolder, report: Callable[[], RemoteState]) -> int:
        """Its exit code; until it ends a report after each checkpoint, and one every few seconds."""
        newest, reported = _newest(run), time.monotonic()
        while True:
            try:
                return child.process.wait(timeout=LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            if (now_newest := _newest(run)) != newest or time.monotonic() - reported > REPORT_SECONDS:
                newest, reported = now_newest, time.monotonic()
                report()

    def _end(self, state: RemoteState) -> RemoteState:
        self._write(state)
        return state

    def _write(self, state: RemoteState) -> None:
        write_state(self.volume, state)
        self.commit()

    def _limit(self) -> str:
        assert self.spec.max_seconds is not None
        return f"its limit of {self.spec.max_seconds:g} s is spent; give it more to continue"


def _save(child: Child | None) -> None:
    """Let the training, if it was started, save what it has, and end it."""
    if child is not None and child.process.poll() is None:
        child.process.send_signal(signal.SIGTERM)
        try:
            child.process.wait(timeout=SAVE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()


def _newest(run: RunFolder) -> tuple[int, int]:
    """Which checkpoint is the newest, and when it was written: a step may be saved twice."""
    try:
        newest = list_checkpoints(run)[-1]
        return newest.env_steps, newest.json_path.stat().st_mtime_ns
    except (IndexError, OSError, GymnastError):
        return (-1, 0)


def _as_seen(run: RunFolder, state: RemoteState) -> RemoteState:
    """The state with what the run's own files have."""
    try:
        entry = registry.entry_of(run)
        rates = read_columns(run.metrics_path, ["time/fps"])["time/fps"]
    except (OSError, GymnastError, ValueError):
        return state
    fps = sorted(rates.tolist())[len(rates) // 2] if len(rates) else state.fps
    return replace(state, env_steps=entry.env_steps or state.env_steps, fps=fps, score=entry.best_score)


def _reason(run: RunFolder) -> str:
    try:
        return registry.entry_of(run).reason or ""
    except (OSError, GymnastError):
        return ""


def _said(root: Path) -> str:
    """The error of a training that never became a run."""
    try:
        return (root / "error.txt").read_text()
    except OSError:
        return "the training could not start; see gymnast remote logs"
