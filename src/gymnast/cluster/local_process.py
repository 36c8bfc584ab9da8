"""What runs inside a local actor process: messages in, answers out, until the pipe closes."""

from __future__ import annotations

import os
import signal

from gymnast.cluster.versions import own_versions
from gymnast.cluster.wire import packed, unpacked
from gymnast.processes.messages import receive_attached, send
from gymnast.processes.output import flush_streams
from gymnast.rollout.remote_actor import Shares


def main(command_fd: int, answer_fd: int) -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the learner to act on
    shares = Shares(own_versions())
    try:
        while True:
            message, data = receive_attached(command_fd)
            answer = shares.answer(
                message["message"],
                unpacked(message["arrays"], data[: message["size"]]),
                unpacked(message["shared"], data[message["size"] :]),
            )
            heads, content = packed(answer.arrays)
            send(answer_fd, {"data": answer.data, "arrays": heads}, content)
    except (EOFError, BrokenPipeError):
        shares.close()
    flush_streams()
    os._exit(0)  # taking the interpreter down in order would keep the learner waiting
