"""Looks for a reason to end the run while envs are stepped: a rollout or an evaluation may take hours.

What does not finish within a few seconds of that is dropped, so a short rollout stays exactly resumable.
"""

from __future__ import annotations

import time

from gymnast.metrics.sinks.console import Console
from gymnast.rollout.source import Interrupted
from gymnast.training.budget import Budget
from gymnast.training.requests import AnyOf
from gymnast.training.run.signals import StopRequest

GRACE_SECONDS = 2.0
LOOK_SECONDS = 0.05  # after every step of the envs it reads the clock, and only this often does more


class Watch:
    """The run's clock, and the progress callbacks of rollouts and evaluations."""

    def __init__(
        self, budget: Budget, seconds: float, requests: AnyOf, stop: StopRequest, console: Console
    ) -> None:
        """`seconds`: of training before, which wall time includes."""
        self._wall_time, self._requests, self._stop, self._console = budget.wall_time, requests, stop, console
        self._began = time.perf_counter() - seconds
        self._next_look = 0.0
        self._since: float | None = None  # when a reason to end was first seen

    @property
    def seconds(self) -> float:
        """Seconds of training."""
        return time.perf_counter() - self._began

    @property
    def ending(self) -> bool:
        """Whether a reason to end was seen."""
        return self._since is not None

    def leave_out(self, seconds: float) -> None:
        """A pause does not count as training."""
        self._began += seconds

    def collecting(self, done: int, total: int) -> None:
        """So many steps of a rollout are done; raises Interrupted if it has to be dropped."""
        due = time.perf_counter() >= self._next_look
        if due or done >= total:
            self._console.collecting(done, total)
        if due:
            self._look(done < total)

    def evaluating(self, done: int, total: int) -> None:
        """So many episodes of an evaluation are done; likewise."""
        due = time.perf_counter() >= self._next_look
        if due or done >= total:
            self._console.evaluating(done, total)
        if due:
            self._look(done < total)

    def _look(self, unfinished: bool) -> None:
        now = time.perf_counter()
        self._next_look = now + LOOK_SECONDS
        if self._since is None and self._must_end(now):
            self._since = now
        if unfinished and self._since is not None and now - self._since >= GRACE_SECONDS:
            raise Interrupted

    def _must_end(self, now: float) -> bool:
        if self._stop.requested is not None or self._requests.stop_asked():
            return True
        return self._wall_time is not None and now - self._began >= self._wall_time
