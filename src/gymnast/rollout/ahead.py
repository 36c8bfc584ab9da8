"""Collecting ahead: the next rollout is collected while this one is learned from.

The thread that collects acts with a copy of the policy, taken before the update begins. So data is
one update old when it is learned from, always exactly one, and which weights acted at which step does
not depend on the machine's speed. The randomness of acting is drawn before the thread begins.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any

import numpy as np

from gymnast.policies.policy import Policy
from gymnast.rollout.collector import Collector
from gymnast.rollout.source import Collected, Interrupted, Progress

_LOOK_SECONDS = 0.05


class AheadCollector:
    """A collector that is always one rollout ahead of the learner."""

    def __init__(self, collector: Collector, acting: Policy) -> None:
        """`collector` keeps two rollouts; `acting` is a policy of the same layout that nothing else uses."""
        self._collector, self._acting = collector, acting
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gymnast-collector")
        self._pending: Future[Collected] | None = None
        self._state: dict[str, Any] | None = None  # before the pending rollout
        self._progress: Progress | None = None  # of the last `collect`
        self._given_up = False  # the thread looks at it after every step

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Progress | None = None
    ) -> Collected:
        """The pending rollout; the next one begins. The first call has none to wait for."""
        collector, acting = self._collector, self._acting
        self._progress = progress
        if self._pending is None:
            collected = collector.collect(policy, rng, progress)
        else:
            self._await(self._pending)
            pending, self._pending = self._pending, None
            collected = pending.result()
        acting.take_from(policy)
        # Envs whose state cannot be saved start new episodes on a resume: no need to wait for them.
        self._state = None if collector.envs.carries_state else collector.state()
        noise = collector.draw(policy, rng)
        # In this context: what envs report meanwhile belongs to this run.
        run = copy_context().run
        self._pending = self._thread.submit(
            run, acting.network.beside, collector.collect_with, acting, noise, self._unless_given_up
        )
        return collected

    def _await(self, pending: Future[Collected]) -> None:
        """Until it is done; raises Interrupted as `progress` does."""
        if self._progress is None:
            pending.exception()
            return
        while wait([pending], _LOOK_SECONDS).not_done:
            self._progress(self.steps_done, self._collector.n_steps)

    def _unless_given_up(self, done: int, total: int) -> None:
        if self._given_up and done < total:
            raise Interrupted

    def drop(self) -> None:
        self._give_up()
        self._collector.drop()

    def state(self) -> dict[str, Any] | None:
        """As the collector's. A resumed run does not learn from the pending rollout."""
        if self._pending is not None:
            if self._state is not None:
                return self._state
            try:
                self._await(self._pending)  # should it have failed, the next `collect` raises
            except Interrupted:
                self.drop()
                logging.getLogger("gymnast").warning("the rollout collected ahead was dropped unfinished")
        return self._collector.state()

    def load_state(self, policy: Policy, state: dict[str, Any]) -> str | None:
        self._give_up()
        return self._collector.load_state(policy, state)

    def close(self) -> None:
        self._give_up()
        self._thread.shutdown()

    def _give_up(self) -> None:
        """End the pending rollout with its current step."""
        if self._pending is not None:
            self._given_up = True
            self._pending.exception()
            self._pending, self._given_up = None, False

    def next_inputs(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self._collector.next_inputs()

    @property
    def steps_done(self) -> int:
        return self._collector.steps_done
