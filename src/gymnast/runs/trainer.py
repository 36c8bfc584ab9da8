"""The process that trains a run, as others see it: whether there is one, what it is doing, and asking it.

The lock of a run decides whether it is being trained; a killed process releases it. `process.json` names the
process; no signal is ever sent to it, so a stale number does no harm. Requests are files in `requests/`. Each
is addressed to one training process, by its token, and is removed once it has been acted on; requests to an
earlier process are dropped by the next one.
"""

from __future__ import annotations

import json
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError
from gymnast.processes.identity import ProcessIdentity, own_identity
from gymnast.runs.files import list_folder, make_folder, read_json, remove, write_atomic
from gymnast.runs.store import RunFolder


@dataclass(frozen=True, slots=True)
class Trainer:
    """A process that trains, or trained, a run."""

    token: str  # of this training alone: a resumed one has another
    process: ProcessIdentity
    paused: bool = False


def is_training(run: RunFolder) -> bool:
    """Whether a living process trains this run now."""
    if not run.is_locked():
        return False
    # Others may hold the lock for a moment: workers of a killed process, or another call of `is_locked`.
    trainer = read_trainer(run)
    return trainer is None or not trainer.process.is_dead()


def is_paused(run: RunFolder) -> bool:
    """Whether its training process is paused; only meaningful for a run that is being trained."""
    trainer = read_trainer(run)
    return trainer is not None and trainer.paused


def read_trainer(run: RunFolder) -> Trainer | None:
    """What process.json holds; None without one, or if it is damaged. It proves nothing by itself."""
    said = read_json(run.process_path)
    try:
        if said is None:
            return None
        process = ProcessIdentity(int(said["pid"]), said["started"], said["machine"])
        return Trainer(str(said["token"]), process, bool(said["paused"]))
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits to be acted on."""

    path: Path
    token: str
    word: str

    def is_waiting(self) -> bool:
        return self.path.exists()

    def withdraw(self) -> None:
        remove(self.path)


def ask(run: RunFolder, token: str, word: str) -> Asked:
    """Leave a request for the process with this token."""
    # Names sort by time, and two askers never share one.
    path = run.requests / f"{time.time_ns():020d}-{secrets.token_hex(4)}.json"
    make_folder(run.requests)
    write_atomic(path, json.dumps({"token": token, "request": word}), durable=False)
    return Asked(path, token, word)


class Announced:
    """The training process's side: announces it, and takes each request once."""

    def __init__(self, run: RunFolder) -> None:
        """Call with the run's lock held."""
        self._run = run
        self._trainer = Trainer(secrets.token_hex(8), own_identity())
        self._seen: set[str] = set()  # should a file be impossible to remove, it still counts once
        self._under_way: list[Path] = []
        self._write()

    def take(self) -> list[str]:
        """What was asked since the last call, in order. Those handed out before count as done now."""
        self.done()
        words = []
        for path in self._new():
            self._seen.add(path.name)
            self._under_way.append(path)
            words += self._words_in(path)
        return words

    def waiting(self) -> list[str]:
        """What the next `take` will return."""
        return [word for path in self._new() for word in self._words_in(path)]

    def _new(self) -> list[Path]:
        try:
            names = sorted(list_folder(self._run.requests))
        except GymnastError:
            return []
        # A dot: being written.
        return [self._run.requests / name for name in names if name[0] != "." and name not in self._seen]

    def _words_in(self, path: Path) -> list[str]:
        said: dict[str, Any] = read_json(path) or {}
        return [str(said.get("request"))] if said.get("token") == self._trainer.token else []

    def done(self) -> None:
        """What was taken has been acted on; the asker sees it by the missing file."""
        for path in self._under_way:
            with suppress(GymnastError):
                remove(path)
        self._under_way.clear()

    def say_paused(self, paused: bool) -> None:
        if paused != self._trainer.paused:
            self._trainer = Trainer(self._trainer.token, self._trainer.process, paused)
            with suppress(GymnastError):  # nothing that training should end for
                self._write()

    def withdraw(self) -> None:
        """The training is over."""
        self.done()
        with suppress(GymnastError):
            remove(self._run.process_path)

    def _write(self) -> None:
        document = {"token": self._trainer.token, **asdict(self._trainer.process)}
        document["paused"] = self._trainer.paused
        write_atomic(self._run.process_path, json.dumps(document) + "\n", durable=False)
