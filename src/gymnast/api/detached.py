"""Training in a process that outlives the one which starts it, and its terminal.

The parent waits until the run exists and gets its id, or the error for which it could not start. What a
terminal would show goes to the run's console.log.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from gymnast.api.arguments import Folders, folders, maybe_seconds, maybe_whole, plain_overrides
from gymnast.api.run import folder_of
from gymnast.errors import GymnastError, RunFailed
from gymnast.metrics.sinks.console import RunHeader
from gymnast.metrics.sinks.plain import PlainConsole
from gymnast.metrics.sinks.sink import Style
from gymnast.processes.messages import receive, send
from gymnast.processes.start import end_group, how_it_ended
from gymnast.processes.start import start_detached as start_process
from gymnast.redact import redact
from gymnast.runs.files import open_append, write_failed
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config
from gymnast.terminal.crash import crash_message

_LAST_LINES = 20  # of the output of a process that crashed


@dataclass(frozen=True, slots=True)
class DetachedRun:
    """A run that is being trained by a process of its own."""

    id: str
    path: Path
    pid: int


def start_detached(
    reference: str | Path | None = None,
    *,
    resume: str | Path | None = None,
    overrides: Mapping[str, Any] | Sequence[str] = (),
    max_env_steps: int | str | None = None,
    wall_time: float | str | None = None,
    init_from: str | Path | None = None,
    run_id: str | None = None,
    max_duration: float | str | None = None,
    fresh_optimizer: bool = False,
    runs_dir: str | Path | None = None,
    track: Sequence[str] = (),
    config_dirs: Folders = (),
    notify: Callable[[str], None] = lambda text: None,
    trust: bool = False,
    command: Sequence[str] | None = None,
) -> DetachedRun:
    """Start what `api.train(reference)` or `api.resume(resume)` would train, and return once it trains.

    `notify` receives what it reports before that. `command` is what run.json records as having started it,
    if this process's own command line would not do so. Stop it with `api.stop(run.id)`.
    """
    if os.name != "posix":
        raise GymnastError("a detached training needs Linux or macOS")
    if (reference is None) == (resume is None):
        raise GymnastError("name what to train, or a run to resume: one of the two")
    if resume is not None:  # the process itself could not ask
        load_run_config(folder_of(resume, runs_dir), overrides, trust=trust)
    order = {
        "argv": sys.argv if command is None else list(command),
        "reference": _text(reference),
        "resume": _text(resume),
        "init_from": _text(init_from),
        "run_id": run_id,
        "config_dirs": [str(folder) for folder in folders(config_dirs)],
        "fresh_optimizer": fresh_optimizer,
        "trust": trust,
        "shared": {
            "overrides": plain_overrides(overrides),
            "max_env_steps": maybe_whole("max_env_steps", max_env_steps),
            "wall_time": maybe_seconds("wall_time", wall_time),
            "max_duration": maybe_seconds("max_duration", max_duration),
            "runs_dir": _text(runs_dir),
            "track": list(track),
        },
    }
    ours, theirs = socket.socketpair()
    with TemporaryFile() as output, ours:
        with theirs:
            process = start_process(f"{__name__}:main", (theirs.fileno(),), output=output)
        try:
            send(ours.fileno(), order)
            while "note" in (answer := receive(ours.fileno())):
                notify(answer["note"])
        except (EOFError, OSError):
            said = _last_lines(output)
            raise RunFailed(f"the training process {how_it_ended(process.wait())}{said}") from None
        except BaseException:  # such as Ctrl-C: the run is not wanted any more
            end_group(process)
            raise
    if "error" in answer:
        process.wait()
        error = GymnastError(answer["error"])
        error.exit_code = answer["exit_code"]
        raise error
    # If this process lives on, it must wait for the other's end, or that stays in the process table.
    threading.Thread(target=process.wait, daemon=True).start()
    return DetachedRun(answer["id"], Path(answer["path"]), process.pid)


def _text(value: str | Path | None) -> str | None:
    return None if value is None else str(value)


def _last_lines(output: IO[bytes]) -> str:
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return "".join(f"\n{line}" for line in lines)


def main(fd: int) -> None:
    """What runs inside the process."""
    from gymnast import api

    order = receive(fd)
    sys.argv = order["argv"]  # what run.json records
    console = _Console(fd)
    try:
        if order["resume"] is None:
            start = {key: order[key] for key in ("init_from", "run_id", "config_dirs")}
            api.train(order["reference"], console=console, **start, **order["shared"])
        else:
            chosen = {key: order[key] for key in ("fresh_optimizer", "trust")}
            api.resume(order["resume"], console=console, **chosen, **order["shared"])
    except GymnastError as error:
        console.failed(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:  # a second signal: aborted at once
        sys.exit(130)
    except Exception as error:
        fault = RunFailed(crash_message(error))
        console.failed(fault)
        sys.exit(fault.exit_code)


class _Console(PlainConsole):
    """Plain lines; until the run exists, they go to the process that started it."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._parent: int | None = fd
        self._run_id = ""

    def started(self, header: RunHeader) -> None:
        run = RunFolder(Path(header.path))
        self._run_id = header.run_id
        _print_to(run.console_path)
        super().started(header)
        self._send({"id": header.run_id, "path": header.path})
        self._let_go()

    def note(self, text: str, style: Style = "info") -> None:
        if not self._send({"note": text}):
            super().note(redact(text), style)

    def paused(self, flag: bool) -> None:
        super().note(f"paused: gymnast runs resume {self._run_id}" if flag else "resumed")

    def failed(self, error: GymnastError) -> None:
        if not self._send({"error": str(error), "exit_code": error.exit_code}):
            super().note(redact(str(error)), "error")
        self._let_go()

    def _send(self, message: dict[str, Any]) -> bool:
        """Whether the parent is still attached. If it was killed, the training continues."""
        if self._parent is None:
            return False
        with suppress(OSError):
            send(self._parent, message)
        return True

    def _let_go(self) -> None:
        if self._parent is not None:
            os.close(self._parent)
            self._parent = None


def _print_to(path: Path) -> None:
    """From now on, what is printed goes to this file, after what was printed so far."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        with open_append(path) as file:
            before = os.pread(1, os.fstat(1).st_size, 0).decode(errors="replace")
            file.write(redact(before).encode())
            file.flush()
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
    except OSError as error:
        raise write_failed(path, error) from error
