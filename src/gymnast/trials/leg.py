"""Trains one leg of a run: starts it, continues it or forks it, whatever is due."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.config.load import load_config
from gymnast.errors import GymnastError, described
from gymnast.metrics.sinks.console import QuietConsole, RunHeader
from gymnast.redact import redact
from gymnast.runs import references, registry
from gymnast.runs.checkpoint import list_checkpoints, load_policy_arrays
from gymnast.runs.ids import check_new_id
from gymnast.runs.store import RunFolder, delete_run, is_run
from gymnast.training.requests import Request
from gymnast.training.run.launch import continue_run, start_run
from gymnast.training.run.observers import Observers
from gymnast.training.run.step_limit import StepLimit, waits_at
from gymnast.trials.fork import fork_run
from gymnast.trials.trial import Trial, TrialState, TrialStatus

if TYPE_CHECKING:
    from gymnast.training.report import Report
    from gymnast.training.run.outcome import Outcome

_SIGN_SECONDS = 2.0  # between two signs of life within an update

Progress = Callable[[int], None]
StopAsked = Callable[[], bool]


def train_leg(trial: Trial, root: Path, progress: Progress, stop_asked: StopAsked) -> TrialState:
    """Train until the leg's end; every failure is a state, not an exception."""
    leg = _Leg(trial.stop_at, progress, stop_asked)
    try:
        return _train(trial, root, leg)
    except GymnastError as error:
        return TrialState(trial.run_id, "failed", leg.env_steps, redact(str(error)))
    except Exception as error:  # an env may fail in any way
        return TrialState(trial.run_id, "failed", leg.env_steps, redact(described(error)))


def _train(trial: Trial, root: Path, leg: _Leg) -> TrialState:
    run = RunFolder(root / trial.run_id)
    observers = Observers(_SignsOfLife(leg), leg, (leg,))
    outcome: Outcome | None = None
    if not is_run(run) or _must_start_again(run):
        run, outcome = _start(trial, root, observers)
    elif (state := _already(trial, run)) is not None:
        return state
    while outcome is None or (outcome.status == "interrupted" and leg.is_short(outcome.env_steps)):
        outcome = continue_run(run, {}, False, observers)
    steps = outcome.env_steps
    if outcome.status in ("solved", "finished"):
        return TrialState(run.id, "finished", steps, outcome.reason)
    if trial.stop_at is not None and steps >= trial.stop_at:
        return TrialState(run.id, "paused", steps, f"reached step {steps:,}")
    return TrialState(run.id, "stopped", steps, outcome.reason)


def _start(trial: Trial, root: Path, observers: Observers) -> tuple[RunFolder, Outcome | None]:
    check_new_id(root, trial.run_id)
    words = [f"{key}={value}" for key, value in trial.overrides.items()]
    sys.argv = ["gymnast", "train", trial.reference, *words]  # what run.json records
    if trial.fork_from is not None:
        checkpoint = references.find_checkpoint(root, trial.fork_from, allow_paths=False)
        return fork_run(checkpoint, root, trial.run_id, trial.overrides), None
    resolved = load_config(trial.reference, trial.overrides, config_dirs=list(map(Path, trial.config_dirs)))
    start = None
    if trial.init_from is not None:
        source = references.find_checkpoint(root, trial.init_from)
        start = (load_policy_arrays(source)[0], source)
    return start_run(resolved, root, start, observers, trial.run_id)


def _must_start_again(run: RunFolder) -> bool:
    """Whether the process was killed before its first checkpoint: the run is removed, since it has nothing
    that a new start would not give."""
    if list_checkpoints(run) or registry.entry_of(run).status == "failed":
        return False
    delete_run(run)  # refused while another process trains it
    return True


def _already(trial: Trial, run: RunFolder) -> TrialState | None:
    """The state of a run that has nothing left to train in this leg."""
    entry = registry.entry_of(run)
    if entry.status in ("finished", "failed"):
        status: TrialStatus = "finished" if entry.status == "finished" else "failed"
        return TrialState(run.id, status, entry.env_steps, entry.reason or "")
    if trial.stop_at is not None and waits_at(run, trial.stop_at):
        last = list_checkpoints(run)[-1].env_steps
        return TrialState(run.id, "paused", last, f"reached step {last:,}")
    return None


class _Leg(StepLimit):
    """Also says how far it is, and asks for a stop when whoever ordered the leg does."""

    def __init__(self, stop_at: int | None, progress: Progress, stop_asked: StopAsked) -> None:
        super().__init__(stop_at)
        self._progress, self._wanted = progress, stop_asked

    def started(self, header: RunHeader) -> None:
        super().started(header)
        self._progress(self.env_steps)

    def take(self, report: Report) -> None:
        super().take(report)
        self._progress(report.env_steps)

    def still_alive(self) -> None:
        """Between two updates: something of a rollout or an evaluation is done."""
        self._progress(self.env_steps)

    def poll(self) -> set[Request]:
        return {Request.STOP} if self._wanted() else super().poll()

    def wait(self, seconds: float) -> set[Request]:
        return {Request.STOP} if self._wanted() else super().wait(seconds)

    def stop_asked(self) -> bool:
        return self._wanted()


class _SignsOfLife(QuietConsole):
    """Says now and then that envs are being stepped: an update or an evaluation of a slow env may take longer
    than a trial may be silent."""

    def __init__(self, leg: _Leg) -> None:
        self._leg = leg
        self._collected = -1
        self._in_background = False
        self._said = time.monotonic()

    def started(self, header: RunHeader) -> None:
        super().started(header)
        self._in_background = bool(header.config["eval"]["background"])

    def collecting(self, done: int, total: int) -> None:
        if done != self._collected:  # who waits for a thread or another machine calls it with the same number
            self._collected = done
            self._say()

    def evaluating(self, done: int, total: int) -> None:
        if not self._in_background:  # called at each step, not while waiting for a process
            self._say()

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said >= _SIGN_SECONDS:
            self._said = now
            self._leg.still_alive()
