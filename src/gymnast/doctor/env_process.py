"""The check of wrappers and env in a process of its own: an env that crashes or hangs is one more finding."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

from gymnast.doctor.env_check import check_env
from gymnast.doctor.finding import Finding
from gymnast.doctor.wrapper_check import check_wrappers
from gymnast.envs.backends.worker_process import register
from gymnast.envs.backends.workers import registration, why_not_workers
from gymnast.envs.settings import EnvConfig
from gymnast.processes.messages import has_arrived, receive, send
from gymnast.processes.start import how_it_ended, start_child

PATIENCE = 120.0  # seconds for one check, which may build the env and play for some seconds
_END_SECONDS = 3.0


def check(
    config: EnvConfig, *, render: bool = True, normalized: bool = False
) -> Iterator[tuple[str, Finding]]:
    """Findings as they come, each with what it is about: `wrapper` or `env`."""
    how = {"render": render, "normalized": normalized}
    if why_not_workers(config) is not None:
        yield from _check_here(config, **how)
        return
    order = {"config": config.model_dump(mode="json"), "registered": registration(config), "how": how}
    ours, theirs = socket.socketpair()
    last = "the beginning"
    with ours:
        with theirs:  # kept by the child alone, so that its death closes it
            child = start_child("gymnast.doctor.env_process:main", (theirs.fileno(),))
        try:
            send(ours.fileno(), order)
            while True:
                if not has_arrived(ours.fileno(), PATIENCE):
                    child.kill()
                    text = f"the env hangs: nothing for {PATIENCE:g} s after {last}"
                    yield "env", Finding("process", "failed", text, "find what step() or reset() waits for")
                    return
                message = receive(ours.fileno())
                if message is None:
                    return
                about, values = message
                finding = Finding(**values)
                last = f"the check '{finding.check}'"
                yield about, finding
        except (EOFError, OSError):
            child.process.wait()
            text = f"the env's process {how_it_ended(child.process.returncode)} after {last}"
            advice = "code in C may have crashed, or something calls os._exit"
            yield "env", Finding("process", "failed", text, advice)
        finally:
            child.end(_END_SECONDS)


def _check_here(config: EnvConfig, **how: bool) -> Iterator[tuple[str, Finding]]:
    for finding in check_wrappers(config):
        yield "wrapper", finding
    for finding in check_env(config, **how):
        yield "env", finding


def main(fd: int) -> None:
    """The other side: one order in, findings out, then None."""
    order: dict[str, Any] = receive(fd)
    register(order["registered"])
    config = EnvConfig.model_validate(order["config"])
    try:
        for about, finding in _check_here(config, **order["how"]):
            send(fd, [about, finding.to_json()])
    except Exception as error:  # of the check itself: what the env does is a finding already
        send(fd, ["env", Finding("check", "failed", f"the check itself failed: {error!r}").to_json()])
    send(fd, None)
