"""The process that records: it plays envs, which may crash, print or leak, so that the server does not.

It gets one wish after another, {"job": 3, "wish": {…}}, and answers with {"job": 3, "steps": 160} while it
plays, then with `recording` or `error`. Anything that arrives while it plays cancels the recording.
"""

from __future__ import annotations

import gc
from typing import Any

from gymnast.errors import GymnastError, described
from gymnast.processes.messages import has_arrived, receive, send


def main(wishes: int, answers: int) -> None:
    """Until the server is gone."""
    import gymnast.api.recordings
    import gymnast.recordings.record  # imported now, while nobody waits: it takes a second  # noqa: F401

    send(answers, {"ready": True})
    while True:
        try:
            message = receive(wishes)
        except EOFError:
            return
        if "wish" not in message:
            continue  # a cancellation that came too late
        job = message["job"]
        try:
            answer = _record(job, message["wish"], wishes, answers)
        except GymnastError as error:
            answer = {"error": str(error)}
        except Exception as error:  # an env may raise anything
            answer = {"error": f"the recording failed: {described(error)}"}
        gc.collect()
        try:
            send(answers, {"job": job, **answer})
        except OSError:
            return


def _record(job: int, wish: dict[str, Any], wishes: int, answers: int) -> dict[str, Any]:
    from gymnast import api

    def progress(steps: int) -> bool:
        send(answers, {"job": job, "steps": steps})
        return not has_arrived(wishes)

    info = api.record_checkpoint(
        wish["reference"],
        episodes=wish["episodes"],
        max_steps=wish["steps"],
        stochastic=wish["stochastic"],
        seed=wish["seed"],
        task=wish["task"],
        frames=wish["frames"],
        overrides=wish["overrides"],
        runs_dir=wish["runs_dir"],
        trust=wish["trust"],
        progress=progress,
    )
    return {"recording": info.id}
