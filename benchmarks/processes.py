"""One measurement, one new process: its seconds, its peak memory, what it printed, and what disturbed it.

This file and everything the harness itself imports use the standard library alone: a child's peak
memory starts from its parent's on Linux, so a harness with NumPy in it would inflate every figure.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DISTURBED = 0.25  # seconds beside other processes that kept so many cores busy are marked


@dataclass(frozen=True)
class Finished:
    """A child process that exited with 0."""

    started: float  # wall clock when it was started
    seconds: float  # from before its start until it was gone
    peak_mib: float
    stdout: str
    others: float  # cores that other processes kept busy meanwhile

    def json(self) -> dict[str, Any]:
        """The JSON object on the last line it printed."""
        lines = [line for line in self.stdout.splitlines() if line.strip()]
        if not lines:
            raise SystemExit("a measurement printed nothing where JSON was expected")
        found: dict[str, Any] = json.loads(lines[-1])
        return found


def run(command: Sequence[str | Path], watch: Callable[[int], None] | None = None) -> Finished:
    """Run `command` to its end; `watch` gets its process id meanwhile."""
    words = [str(word) for word in command]
    environment = os.environ | {"PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    # Installed packages come with bytecode; without this a checkout would be compiled again in every process.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started, clock, busy = time.time(), time.perf_counter(), _busy_seconds()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        if watch is not None:
            watch(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - clock
        others = max(0.0, _busy_seconds() - busy - usage.ru_utime - usage.ru_stime) / seconds
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            raise SystemExit(
                f"{' '.join(words)}\nended with {child.returncode}:\n{err.read()[-2000:]}{out.read()[-1000:]}"
            )
        # ru_maxrss is in bytes on macOS and in KiB everywhere else
        peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        return Finished(started, seconds, peak, out.read(), others)


class OtherProcesses:
    """How many cores processes that are not ours kept busy while this was entered: they disturb figures."""

    def __enter__(self) -> OtherProcesses:
        self.cores = 0.0
        self._since = (time.perf_counter(), _busy_seconds(), _own_seconds())
        return self

    def __exit__(self, *_: object) -> None:
        clock, busy, own = self._since
        spent = (_busy_seconds() - busy) - (_own_seconds() - own)
        self.cores = max(0.0, spent / (time.perf_counter() - clock))


def _busy_seconds() -> float:
    """CPU seconds of the whole machine since it started; 0 where it is unknown."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, *_ = (int(word) for word in stat.read_text().split()[1:9])
    return (user + nice + system + irq + softirq) / float(os.sysconf("SC_CLK_TCK"))


def _own_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def script(name: str, *arguments: object) -> list[str]:
    """The command that runs one of the programs beside this file."""
    return [sys.executable, str(HERE / name), *map(str, arguments)]


def gymnast(*arguments: object) -> list[str]:
    """The command line `gymnast …` of the environment that the harness runs in."""
    return [str(Path(sys.executable).parent / "gymnast"), *map(str, arguments)]
