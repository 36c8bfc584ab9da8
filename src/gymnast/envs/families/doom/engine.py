"""Starting Doom's engine so that nothing of it is left anywhere: no process, no files, no shared memory.

The engine writes its settings into the folder that it is started in, takes signals that are meant for the
process that plays (Ctrl-C), and keeps waiting when that one is killed. So it is started by a small script,
in a folder of its own, and a guard (`guard.py`) sees to what is left in the end.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import vizdoom

from gymnast.envs.families.doom import guard
from gymnast.errors import GymnastError

# What the package raises when the engine has ended by itself.
GONE = (
    vizdoom.ViZDoomErrorException,
    vizdoom.ViZDoomUnexpectedExitException,
    vizdoom.ViZDoomIsNotRunningException,
)

_SCRIPT = """\
#!/bin/sh
trap '' INT HUP TERM QUIT
cd {folder} || exit 1
echo "$$ $*" >> engines
exec {engine} "$@"
"""


def start(game: vizdoom.DoomGame) -> None:
    """Start the engine of a game that is set up."""
    script = _script(os.getpid())
    if script is not None:
        game.set_vizdoom_path(str(script))
    try:
        game.init()
    except Exception as error:
        raise GymnastError(f"Doom's engine could not be started: {type(error).__name__}: {error}") from error


@lru_cache(maxsize=1)
def _script(process_id: int) -> Path | None:
    """The script that starts engines for this process; None where there can be none."""
    if os.name != "posix":
        return None
    folder = Path(tempfile.mkdtemp(prefix=f"gymnast-doom-{process_id}-"))
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what ends the player by way of its terminal must not end this first
    )
    atexit.register(_dismiss, watcher)
    script = folder / "engine"
    script.write_text(_SCRIPT.format(folder=shlex.quote(str(folder)), engine=shlex.quote(vizdoom.exe_path)))
    script.chmod(0o700)
    # Not where temporary files may not be executed: the engine itself is started there.
    return script if os.access(script, os.X_OK) else None


def _dismiss(watcher: subprocess.Popen[bytes]) -> None:
    """Tell the guard that this is the end; it is given a moment, so that the folder is gone when we are."""
    assert watcher.stdin is not None
    with contextlib.suppress(OSError):
        watcher.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        watcher.wait(timeout=1.0)
