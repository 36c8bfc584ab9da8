"""Asking a run that another process trains: stop, pause, resume, checkpoint, evaluate; and watching it.

Every function takes a run as elsewhere (`@last`, the beginning of an id, a path) or its folder. A run acts on
requests between two updates, so an answer takes as long as an update does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import Number
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.follow import MetricsFollower
from gymnast.runs.references import find_run
from gymnast.runs.registry import RunEntry, entry_of
from gymnast.runs.store import RunFolder, runs_root
from gymnast.runs.summary import EvalPoint, evaluations
from gymnast.runs.trainer import Asked, Trainer, ask, is_paused, is_training, read_trainer

TIMEOUT = 60.0
_LOOK_SECONDS = 0.05
_START_SECONDS = 10.0  # from taking the lock to the announcement
_ROW_SECONDS = 2.0  # until the metrics of an update are written
_DOES = {
    "stop": "stop",
    "pause": "pause",
    "resume": "resume",
    "checkpoint": "save a checkpoint",
    "evaluate": "evaluate",
}


class NotAnswered(GymnastError):
    """A run did not act on a request in time."""

    exit_code = 1


def stop(
    run: str | Path | RunFolder,
    *,
    wait: bool = True,
    timeout: float = TIMEOUT,
    runs_dir: str | Path | None = None,
) -> RunEntry:
    """Have a run finish its update, save and end. Returns how it ended; with `wait=False` its state now."""
    folder = _folder(run, runs_dir)
    _request(folder, "stop", wait=wait, timeout=timeout, until_it_ends=True)
    return entry_of(folder)


def pause(
    run: str | Path | RunFolder,
    *,
    wait: bool = True,
    timeout: float = TIMEOUT,
    runs_dir: str | Path | None = None,
) -> RunEntry:
    """Have a run wait after its update, until it is resumed or stopped. A paused one stays paused."""
    folder = _folder(run, runs_dir)
    _request(folder, "pause", wait=wait, timeout=timeout)
    return entry_of(folder)


def resume_paused(
    run: str | Path | RunFolder,
    *,
    wait: bool = True,
    timeout: float = TIMEOUT,
    runs_dir: str | Path | None = None,
) -> RunEntry:
    """Have a paused run train again. One that is not paused continues."""
    folder = _folder(run, runs_dir)
    _request(folder, "resume", wait=wait, timeout=timeout)
    return entry_of(folder)


def checkpoint(
    run: str | Path | RunFolder,
    *,
    wait: bool = True,
    timeout: float = TIMEOUT,
    runs_dir: str | Path | None = None,
) -> int | None:
    """Have a run save a checkpoint after its update; the env steps of its last one, if it was waited for."""
    folder = _folder(run, runs_dir)
    _request(folder, "checkpoint", wait=wait, timeout=timeout)
    return list_checkpoints(folder)[-1].env_steps if wait else None


def evaluate(
    run: str | Path | RunFolder,
    *,
    wait: bool = True,
    timeout: float = TIMEOUT,
    runs_dir: str | Path | None = None,
) -> EvalPoint | None:
    """Have a run evaluate its policy after its update; a paused one does when it is resumed. Returns the
    score, if it was waited for; None too where evaluation continues in the background."""
    folder = _folder(run, runs_dir)
    known = len(evaluations(folder))
    _request(folder, "evaluate", wait=wait, timeout=timeout)
    deadline = time.monotonic() + _ROW_SECONDS
    while wait and time.monotonic() < deadline:
        if len(found := evaluations(folder)) > known:
            return found[-1]
        time.sleep(_LOOK_SECONDS)
    return None


def watch(
    run: str | Path | RunFolder,
    *,
    from_start: bool = False,
    every: float = 0.25,
    on_pause: Callable[[bool], None] | None = None,
    runs_dir: str | Path | None = None,
) -> Iterator[dict[str, Number]]:
    """The metrics of a run as they are written, until it ends: from its last row on, or from its first.

    `on_pause` hears when it is paused and when it is resumed. Whoever watches does nothing to the run.
    """
    folder = _folder(run, runs_dir)
    follower = MetricsFollower(folder.metrics_path, from_start=from_start)
    was_paused = False
    while True:
        running = is_training(folder)  # before the rows: so the last ones are not missed
        yield from follower.new_rows()
        if not running:
            return
        if on_pause is not None and (paused := is_paused(folder)) != was_paused:
            was_paused = paused
            on_pause(paused)
        time.sleep(every)


def _folder(run: str | Path | RunFolder, runs_dir: str | Path | None) -> RunFolder:
    return run if isinstance(run, RunFolder) else find_run(runs_root(runs_dir), str(run))


def _request(run: RunFolder, word: str, *, wait: bool, timeout: float, until_it_ends: bool = False) -> None:
    if timeout <= 0:
        raise GymnastError(f"timeout must be more than 0 seconds, got {timeout:g}")
    trainer = _who_trains(run)
    asked = ask(run, trainer.token, word)
    deadline = time.monotonic() + timeout
    while wait and (until_it_ends or asked.is_waiting()):
        if not is_training(run) or _is_another(run, trainer):
            _ended(run, asked, until_it_ends)
            return
        if time.monotonic() >= deadline:
            raise NotAnswered(
                f"run {run.id} did not {_DOES[word]} within {timeout:g} s; the request stands, and it acts on"
                " it after the update that it is in"
            )
        time.sleep(_LOOK_SECONDS)


def _who_trains(run: RunFolder) -> Trainer:
    """The process that will act on a request; one that has just taken the lock announces itself soon."""
    deadline = time.monotonic() + _START_SECONDS
    while is_training(run):
        trainer = read_trainer(run)
        if trainer is not None:
            return trainer
        if time.monotonic() >= deadline:
            raise NotAnswered(f"run {run.id} is locked, but no process has announced itself")
        time.sleep(_LOOK_SECONDS)
    entry = entry_of(run)
    reason = f" ({entry.reason})" if entry.reason else ""
    raise GymnastError(
        f"run {run.id} is not being trained: it is {entry.state}{reason}\n"
        f"continue it with: gymnast train --resume {run.id}"
    )


def _is_another(run: RunFolder, trainer: Trainer) -> bool:
    """Whether the run has been resumed meanwhile, by a process that knows nothing of our request."""
    now = read_trainer(run)
    return now is not None and now.token != trainer.token


def _ended(run: RunFolder, asked: Asked, was_wanted: bool) -> None:
    waiting = asked.is_waiting()
    asked.withdraw()
    if waiting and not was_wanted:
        entry = entry_of(run)
        raise NotAnswered(
            f"run {run.id} ended before it could {_DOES[asked.word]}: {entry.reason or entry.status}"
        )
