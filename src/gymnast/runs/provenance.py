"""What started a run: command, versions, git commit and machine, for run.json."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gymnast.redact import redacted_arguments


def describe_process(argv: list[str] | None = None) -> dict[str, Any]:
    """The facts that a reader of a run needs first. Takes a few milliseconds."""
    packages = ["gymnast", "numpy", "gymnasium", *(["torch"] if "torch" in sys.modules else [])]
    return {
        "command": redacted_arguments([Path(sys.argv[0]).name, *sys.argv[1:]] if argv is None else argv),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in packages}},
        "git_commit": git_commit(),
        "machine": {"cpus": os.cpu_count(), "platform": platform.platform()},
    }


def git_commit() -> str | None:
    """The commit of the working directory, with `-dirty` where files differ from it."""
    # A repository's own config may name programs for git to run: a hook, or a monitor of the files.
    nothing_runs = ["-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"]
    try:
        done = subprocess.run(
            ["git", *nothing_runs, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
