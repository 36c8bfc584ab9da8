"""A program that outlives a process which plays Doom, and clears up after it.

Each game is a process of its own, the engine. If the one that plays is killed, its engines wait for a
command that never comes, for ever, and their shared memory stays. So a guard is started beside it, whose
standard input ends when the player does, in whatever way: then engines that are left are ended, their
shared memory and the working folder removed.

Run as a script with the folder as its argument, in an interpreter without site packages: it imports nothing
of ours. The folder's file `engines` has a line for each engine: its process id and its arguments.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path


def main(folder: Path) -> None:
    sys.stdin.buffer.read()  # nothing is ever written: this ends with the player
    try:
        lines = (folder / "engines").read_text().splitlines()
    except OSError:  # none was ever started
        lines = []
    for line in lines:
        process_id, _, arguments = line.partition(" ")
        instance = re.search(r"viz_instance_id (\w+)", arguments)
        if instance is not None:
            end_engine(int(process_id), instance[1])
    shutil.rmtree(folder, ignore_errors=True)


def end_engine(process_id: int, instance: str) -> None:
    """Kill the engine, if the process of this id still is the one, and remove its shared memory."""
    if instance in command_line(process_id):
        with contextlib.suppress(OSError):  # it may just have ended by itself
            os.kill(process_id, signal.SIGKILL)
    for kind in ("SM", "MQCtr", "MQDoom"):
        Path(f"/dev/shm/ViZDoom{kind}{instance}").unlink(missing_ok=True)


def command_line(process_id: int) -> str:
    """What a process was started with; empty if there is none."""
    if Path("/proc/self").is_dir():
        try:
            words = Path(f"/proc/{process_id}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return ""
        return b" ".join(words).decode(errors="replace")
    listed = ["ps", "-o", "command=", "-p", str(process_id)]
    return subprocess.run(listed, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
