"""Actor processes of one machine, kept running for a learner elsewhere: what `gymnast actor` does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from gymnast.envs.backends.remote_start import start_actor_process
from gymnast.errors import GymnastError
from gymnast.processes.start import Child, how_it_ended

_LOOK_SECONDS = 0.2
_PAUSE_SECONDS = 1.0  # before a process that crashed is started again
_MOST_CRASHES = 20  # of all processes; an env that crashes at once must not do so for ever
_END_SECONDS = 1.0


def keep_actors(
    host: str, port: int, token: str, *, processes: int, most_envs: int | None, patience: float
) -> int:
    """Serve the learner with so many processes until it needs them no more; the exit code.

    One that its env takes down is started again. One that the learner refuses has said why, and ends all.
    """

    def start() -> Child:
        return start_actor_process(host, port, token, most_envs=most_envs, patience=patience, talks=True)

    children = [start() for _ in range(processes)]
    try:
        return _watch(children, start)
    finally:
        for child in children:
            child.release()
        until = time.monotonic() + _END_SECONDS
        for child in children:
            child.end(max(0.0, until - time.monotonic()))


def _watch(children: list[Child], start: Callable[[], Child]) -> int:
    """Until all have ended by themselves (0), or one was refused (its code)."""
    crashes, running = 0, set(range(len(children)))
    while running:
        for index in sorted(running):
            code = children[index].process.poll()
            if code is None:
                continue
            if code in (0, GymnastError.exit_code):
                if code:
                    return code
                running.discard(index)
                continue
            crashes += 1
            if crashes > _MOST_CRASHES:
                raise GymnastError(
                    f"actor processes crashed {crashes} times, at last one {how_it_ended(code)}"
                )
            logging.getLogger("gymnast").warning("an actor process %s; starting another", how_it_ended(code))
            time.sleep(_PAUSE_SECONDS)
            children[index].release()
            children[index] = start()
        time.sleep(_LOOK_SECONDS)
    return 0
