"""Starting a process of ours: an interpreter that imports one function and calls it.

Children are programs of their own, not forks: nothing of the parent (threads, torch, a `__main__` without a
guard) is copied or run again in them. They look for modules where the parent does (-P: until they
know where that is, not in the working directory), lead a session of their
own, so that the terminal's Ctrl-C and hang-up reach the parent alone, and end when it does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from gymnast.processes.child import main; main(*sys.argv[2:])"
)
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Stream = int | IO[bytes] | None


@dataclass(slots=True)
class Child:
    """A process that ends with this one: its lifeline is never written to, and closes when we are gone."""

    process: subprocess.Popen[bytes]
    _lifeline: int | None

    def release(self) -> None:
        """Let go of the lifeline: the child ends within a second if it does not by itself."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def end(self, seconds: float) -> None:
        """Let go, give it a moment to leave in order, then kill what is left."""
        self.release()
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it and all that it started: it leads a session of its own, which has its number."""
        end_group(self.process)


def start_child(
    target: str,
    fds: Sequence[int] = (),
    arguments: Sequence[str] = (),
    *,
    one_thread: bool = False,
    stdout: Stream = None,
    stderr: Stream = None,
) -> Child:
    """Call `package.module:function` with these file descriptors, then these texts, in a process that ends
    with this one. `one_thread` keeps its linear algebra to one."""
    lifeline, ours = os.pipe() if os.name == "posix" else (None, None)
    try:
        process = _start(target, fds, arguments, lifeline, one_thread, stdout, stderr)
    except BaseException:
        if ours is not None:
            os.close(ours)
        raise
    finally:
        if lifeline is not None:
            os.close(lifeline)
    return Child(process, ours)


def start_detached(
    target: str, fds: Sequence[int] = (), arguments: Sequence[str] = (), *, output: Stream
) -> subprocess.Popen[bytes]:
    """As `start_child`, in a process that outlives this one and its terminal."""
    return _start(target, fds, arguments, None, False, output, output)


def _start(
    target: str,
    fds: Sequence[int],
    arguments: Sequence[str],
    lifeline: int | None,
    one_thread: bool,
    stdout: Stream,
    stderr: Stream,
) -> subprocess.Popen[bytes]:
    numbers = json.dumps({"lifeline": lifeline, "fds": list(fds)})
    return subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(sys.path), target, numbers, *arguments],
        pass_fds=(*fds, *(() if lifeline is None else (lifeline,))),
        env={**os.environ, **(_ONE_THREAD if one_thread else {})},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of ours that has not been waited for, with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it is gone already
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def how_it_ended(code: int) -> str:
    """An exit code in words, to follow the name of a process."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
