"""Memory: what is free on this machine, what processes take, and what a rollout will need."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")
_UNITS = ("B", "kB", "MB", "GB", "TB")


def available_memory() -> int | None:
    """Bytes that can still be taken, by the machine and a container's limit; None: unknown."""
    free = [size for size in (_meminfo(), _container()) if size is not None]
    return min(free, default=None)


def tree_memory(pid: int | None = None) -> int | None:
    """Bytes that a process (this one if unset) and all its descendants take; shared pages count once."""
    own = os.getpid() if pid is None else pid
    parents = _parents()
    if parents is None:
        return None
    tree, found = {own}, True
    while found:
        found = False
        for child, parent in parents.items():
            if parent in tree and child not in tree:
                tree.add(child)
                found = True
    return sum(_process_memory(member) for member in tree)


def shown_memory(size: float) -> str:
    """'3.2 GB': three digits that matter."""
    power = 0
    while size >= 999.5 and power < len(_UNITS) - 1:
        size /= 1000
        power += 1
    return f"{size:.3g} {_UNITS[power]}"


def _meminfo() -> int | None:
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None


def _container() -> int | None:
    """What is left of a container's limit; its file cache can be given back and is not counted."""
    try:
        limit = int((_CGROUP / "memory.max").read_text())  # 'max': there is none
        used = int((_CGROUP / "memory.current").read_text())
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(stat.get("inactive_file", 0)))
    except (OSError, ValueError):
        return None


def _parents() -> dict[int, int] | None:
    """The parent of every process; None where there is no /proc."""
    parents: dict[int, int] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            # The name stands in brackets and may hold anything, brackets too.
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has just ended
    return parents or None


def _process_memory(pid: int) -> int:
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0
