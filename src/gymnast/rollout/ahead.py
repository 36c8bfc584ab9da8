"""Collecting ahead: the next rollout is collected while this one is learned from.

The thread that collects acts with a copy of the policy, taken before the update begins. So data is
one update old when it is learned from, always exactly one, and which weights acted at which step does
not depend on the machine's speed. The randomness of acting is drawn before the thread begins.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np

from gymnast.policies.policy import Policy
from gymnast.rollout.collector import Collector
from gymnast.rollout.source import Collected, Progress


class AheadCollector:
    """A collector that is always one rollout ahead of the learner."""

    def __init__(self, collector: Collector, acting: Policy) -> None:
        """`collector` keeps two rollouts; `acting` is a policy of the same layout that nothing else uses."""
        self._collector, self._acting = collector, acting
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gymnast-collector")
        self._pending: Future[Collected] | None = None
        self._state: dict[str, Any] | None = None  # before the pending rollout

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Progress | None = None
    ) -> Collected:
        """The pending rollout; the next one begins. The first call has none to wait for."""
        collector, acting = self._collector, self._acting
        if self._pending is None:
            collected = collector.collect(policy, rng, progress)
            collected.rollout.older_policy = False
        else:
            pending, self._pending = self._pending, None
            collected = pending.result()
            collected.rollout.older_policy = True
        acting.take_from(policy)
        # Envs whose state cannot be saved start new episodes on a resume: no need to wait for them.
        self._state = None if collector.envs.carries_state else collector.state()
        noise = collector.draw(policy, rng)
        # In this context: what envs report meanwhile belongs to this run.
        run = copy_context().run
        self._pending = self._thread.submit(run, acting.network.beside, collector.collect_with, acting, noise)
        return collected

    def state(self) -> dict[str, Any]:
        """As the collector's. A resumed run does not learn from the pending rollout."""
        if self._pending is not None:
            if self._state is not None:
                return self._state
            self._pending.exception()  # waits; the next `collect` raises
        return self._collector.state()

    def load_state(self, policy: Policy, state: dict[str, Any]) -> str | None:
        self._wait()
        return self._collector.load_state(policy, state)

    def close(self) -> None:
        self._wait()
        self._thread.shutdown()

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.exception()
            self._pending = None

    def next_inputs(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self._collector.next_inputs()

    @property
    def steps_done(self) -> int:
        return self._collector.steps_done
