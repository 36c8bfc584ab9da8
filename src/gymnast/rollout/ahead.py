"""Collecting ahead: the next rollout is collected while this one is learned from.

The thread that collects acts with a copy of the policy, taken before the update begins. So data is
one update old when it is learned from, always exactly one, and which weights acted at which step does
not depend on the machine's speed. The randomness of acting is drawn before the thread begins.

A checkpoint does not wait for the pending rollout. It holds what that is collected from: the state of the
envs at its start, the weights that act and the state of the random generator. A resumed run collects it
again, bit for bit, wherever the state of the envs can be saved.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        self._before: Future[dict[str, Any] | None] | None = None  # the collector's state before it
        self._drawn_from: Mapping[str, Any] = {}  # the random state before its noise was drawn
        self._again = False  # after a resume: there is one to collect again, with `acting` as it is
        self._given_up = False  # the thread looks at it after every step
        self._dropped: dict[str, Any] | None = None  # the state to resume from after `drop`

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Progress | None = None
    ) -> Collected:
        """The pending rollout; the next one begins. The first call has none to wait for."""
        if self._again:
            self._again = False
            generator = np.random.default_rng()
            generator.bit_generator.state = self._drawn_from
            self._begin(generator)
        if self._pending is None:
            collected = self._collector.collect(policy, rng, progress)
            collected.rollout.older_policy = False
        else:
            self._await(self._pending, progress)
            pending, self._pending = self._pending, None
            collected = pending.result()
            collected.rollout.older_policy = True
        self._acting.take_from(policy)
        self._begin(rng)
        return collected

    def _begin(self, rng: np.random.Generator) -> None:
        """Let the thread collect the next rollout, with `acting` as it is."""
        collector, acting = self._collector, self._acting
        self._drawn_from = rng.bit_generator.state
        noise = collector.draw(acting, rng)
        beside = acting.network.beside
        # In this context: what envs report meanwhile belongs to this run. The state is read in the thread
        # too, since that of some envs takes as long as many steps.
        self._before = self._thread.submit(copy_context().run, beside, collector.state)
        self._pending = self._thread.submit(
            copy_context().run, beside, collector.collect_with, acting, noise, self._unless_given_up
        )

    def _await(self, pending: Future[Collected], progress: Progress | None) -> None:
        """Until it is done; raises Interrupted as `progress` does."""
        if progress is None:
            pending.exception()
            return
        while wait([pending], _LOOK_SECONDS).not_done:
            progress(self.steps_done, self._collector.n_steps)

    def _unless_given_up(self, done: int, total: int) -> None:
        if self._given_up and done < total:
            raise Interrupted

    def drop(self) -> None:
        """Unlike a collector's, a dropped rollout can be collected again by a resumed run."""
        if self._pending is None:
            self._collector.drop()
            return
        self._dropped = self.state()
        self._give_up()

    def state(self) -> dict[str, Any] | None:
        """The collector's before the pending rollout, and what is needed to collect that again."""
        if self._dropped is not None:
            return self._dropped
        if self._pending is not None and self._before is not None:
            state = self._before.result()
        else:
            state = self._collector.state()
            if not self._again:
                return state
        if state is None or not self._collector.envs.carries_state:
            return state  # a resumed run starts new episodes
        return {**state, "ahead": {"policy": self._acting.arrays(), "random": self._drawn_from}}

    def load_state(self, policy: Policy, state: dict[str, Any]) -> str | None:
        self._give_up()
        notice = self._collector.load_state(policy, state)
        ahead: dict[str, Any] | None = None if notice is not None else state.get("ahead")
        self._again = False
        if ahead is not None and _fits(self._acting, ahead["policy"]):
            self._acting.load_arrays(ahead["policy"])
            self._drawn_from, self._again = ahead["random"], True
        return notice

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


def _fits(policy: Policy, arrays: dict[str, np.ndarray]) -> bool:
    """Whether the weights are of such a policy; a resume may have added or removed value heads."""
    own = policy.arrays()
    return own.keys() == arrays.keys() and all(own[name].shape == arrays[name].shape for name in own)
