"""What runs first inside a process of ours; `start.py` is the other side."""

from __future__ import annotations

import json
import os
import sys
import threading
from importlib import import_module
from io import TextIOWrapper


def main(target: str, numbers: str, *arguments: str) -> None:
    """Import `package.module:function` and call it with the file descriptors and texts it was given."""
    given = json.loads(numbers)
    lifeline, fds = given["lifeline"], given["fds"]
    for fd in fds if lifeline is None else [*fds, lifeline]:
        os.set_inheritable(fd, False)  # what this process starts must not keep them open when it is gone
    if lifeline is not None:
        threading.Thread(target=_exit_with_parent, args=(lifeline,), daemon=True).start()
    if isinstance(sys.stdout, TextIOWrapper):  # what an env prints is not lost if the process is killed
        sys.stdout.reconfigure(line_buffering=True)
    sys.argv = [target, *arguments]
    module, _, name = target.partition(":")
    vars(import_module(module))[name](*fds, *arguments)


def _exit_with_parent(lifeline: int) -> None:
    """Nothing is ever written to this pipe: reading ends when the parent does, even amid a long step."""
    os.read(lifeline, 1)
    # A moment for the orderly way out, which is under way if the parent closed its pipes itself.
    threading.Event().wait(1.0)
    os._exit(1)
