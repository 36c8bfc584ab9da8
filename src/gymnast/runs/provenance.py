"""What started a run: command, versions, git commit and machine, for run.json."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gymnast.redact import redacted_arguments


def describe_process(argv: list[str] | None = None) -> dict[str, Any]:
    """The facts that a reader of a run needs first. Takes a few milliseconds."""
    packages = ["gymnast", "numpy", "gymnasium", *(["torch"] if "torch" in sys.modules else [])]
    return {
        "command": redacted_arguments(_own_command() if argv is None else argv),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in packages}},
        "git_commit": _commit[0] if _commit else git_commit(),
        "machine": {"cpus": os.cpu_count(), "platform": platform.platform()},
    }


def _own_command() -> list[str]:
    """This process's command line; `python -m gymnast` is the command `gymnast`."""
    called = Path(sys.argv[0])
    is_module = called.name == "__main__.py" and called.parent.name == "gymnast"
    return ["gymnast" if is_module else called.name, *sys.argv[1:]]


_commit: list[str | None] = []  # of a process that has asked git once for all


def ask_git_once() -> None:
    """For a process that starts many runs: all of them have the commit of this moment."""
    _commit[:] = [git_commit()]


def git_commit() -> str | None:
    """The commit of the working directory, with `-dirty` where files differ from it.

    A folder from elsewhere may bring a git config that names programs: git runs none of them here.
    """
    try:
        commit = _git("rev-parse", "--verify", "--quiet", "HEAD")
        filters = _git("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$")
        without = [name for name in filters.stdout.split("\0") if name]
        looking = ("--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
        changes = _git("diff", *looking, "HEAD", "--", emptied=without)
    except (OSError, subprocess.SubprocessError):
        return None
    if commit.returncode != 0:
        return None
    return commit.stdout.strip() + ("-dirty" if changes.returncode == 1 else "")


def _git(*words: str, emptied: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Ask git, without monitors of files, hooks, and the settings that are emptied."""
    settings = {f"GIT_CONFIG_KEY_{i}": name for i, name in enumerate(emptied)}
    settings |= {f"GIT_CONFIG_VALUE_{i}": "" for i in range(len(emptied))}
    return subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", *words],
        env=os.environ | settings | {"GIT_CONFIG_COUNT": str(len(emptied)), "GIT_OPTIONAL_LOCKS": "0"},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=2,
        check=False,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
