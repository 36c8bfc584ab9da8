"""A step at which one process saves and leaves a run that has more to do: the end of a trial's leg.

Unlike a budget of env steps it is not a setting of the run, whose schedules see all of it.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gymnast.metrics.sinks.console import RunHeader
from gymnast.metrics.sinks.sink import Sink
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.store import RunFolder
from gymnast.training.requests import Request

if TYPE_CHECKING:
    from gymnast.training.report import Report


def waits_at(run: RunFolder, stop_at: int) -> bool:
    """Whether a run was saved at that step or later, and has more to do."""
    if registry.entry_of(run).status != "interrupted":
        return False
    checkpoints = list_checkpoints(run)
    return bool(checkpoints) and checkpoints[-1].env_steps >= stop_at


class StepLimit(Sink):
    """Sees each update, and asks for a stop in the one that reaches the step. Both a sink and requests."""

    def __init__(self, stop_at: int | None) -> None:
        self._stop_at = stop_at
        self._rollout = 0
        self.asked = False  # whether it was this that asked for a stop
        self.env_steps = 0

    def is_short(self, env_steps: int) -> bool:
        """Whether a training that this ended did not reach the step: one that was killed in its first
        evaluation makes that up first, and may stop an update too early."""
        return self.asked and self._stop_at is not None and env_steps < self._stop_at

    def started(self, header: RunHeader) -> None:
        self.asked = False
        self.env_steps = header.env_steps
        self._rollout = header.n_envs * int(header.config["algo"]["n_steps"])

    def take(self, report: Report) -> None:
        self.env_steps = report.env_steps

    def poll(self) -> set[Request]:
        """The loop polls when a rollout is learned from and not yet reported."""
        if self._stop_at is None or self.env_steps + self._rollout < self._stop_at:
            return set()
        self.asked = True
        return {Request.STOP}

    def wait(self, seconds: float) -> set[Request]:
        time.sleep(seconds)
        return set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
