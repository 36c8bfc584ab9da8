"""Rollouts from actors: each has a share of the envs and a copy of the policy, and returns whole rollouts.

`lag` says how many updates the copies are behind. With 0 the learner waits while actors collect, and the
result is that of a collector in this process, to the bit. With 1 they collect the next rollout while the
learner learns from this one, as `AheadCollector` does; with more, so many rollouts are on their way at any
time. Which weights act in which rollout never depends on how fast a machine is.

A checkpoint holds what the rollouts on their way are collected from: a resumed run collects them again.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.contract import CannotCapture, Step
from gymnast.envs.states import decode, encode, without_episodes
from gymnast.policies.policy import Policy
from gymnast.rollout.collector import Collector, Ending
from gymnast.rollout.metrics import rollout_metrics
from gymnast.rollout.remote_crew import Crew, Request
from gymnast.rollout.remote_fleet import Answer
from gymnast.rollout.remote_states import cut, joined
from gymnast.rollout.remote_weights import load_weights, weights_of
from gymnast.rollout.source import Collected, Episode, Interrupted, Progress

_NAMED_ACTORS = 32  # of more, only how slow the slowest is
_DROP_SECONDS = 2.0  # what actors get to finish a rollout that is dropped


class ActorEnvs(CannotCapture):
    """The envs of all actors, as far as anyone but an actor has to know them: they cannot be stepped here."""

    def __init__(
        self,
        crew: Crew,
        backend: str,
        spaces: tuple[gym.Space[Any], gym.Space[Any]],
        reward_parts: tuple[str, ...],
        episode_values: tuple[str, ...],
    ) -> None:
        self.crew, self.backend = crew, backend
        self.n_envs = len(crew.seeds)
        self.observation_space, self.action_space = spaces
        self.reward_parts, self.episode_values = reward_parts, episode_values
        self.carries_state = True  # known once they are built
        self.masks: np.ndarray | None = None

    @property
    def seeds(self) -> list[int]:
        return self.crew.seeds

    @property
    def restarts(self) -> int:
        return self.crew.restarts.count

    def reset(self) -> np.ndarray:
        """Build all shares; what their envs show first."""
        shown = self.crew.muster()
        self.carries_state = self.crew.carries_state
        self.masks = shown.get("masks")
        return shown["obs"]

    def step(self, actions: np.ndarray) -> Step:
        raise RuntimeError("envs of actors are stepped by actors")

    def send(self, actions: np.ndarray) -> None:
        self.step(actions)

    def receive(self) -> Step:
        return self.step(np.empty(0))

    def snapshot(self) -> dict[str, Any]:
        raise RuntimeError("states of envs of actors are part of the source's state")

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        raise RuntimeError("states of envs of actors are part of the source's state")

    def close(self) -> None:
        self.crew.close()


class RemoteCollector(Collector):
    """Joins the rows of all actors, and evaluates them as if they had been collected here."""

    def __init__(
        self,
        envs: ActorEnvs,
        policy: Policy,
        acting: Policy,
        n_steps: int,
        *,
        lag: int = 0,
        weigh: bool = False,
        keep_final_obs: bool = False,
    ) -> None:
        """`acting` is a policy of the same layout that nothing else uses. `weigh`: what was collected by an
        older policy is to be weighed by the present one (V-trace)."""
        super().__init__(envs, policy, n_steps, keep_final_obs=keep_final_obs)
        self._crew, self._acting, self._lag, self._weigh = envs.crew, acting, lag, weigh
        self._pending: deque[Request] = deque()
        self._again: deque[tuple[dict[str, np.ndarray], Any]] = deque()  # after a resume: what was pending
        self._index = 0  # of the next rollout to ask for
        self._version = 0  # updates since this process began
        self._episodes_begun = np.ones(envs.n_envs, np.int64)
        self._broken_off = False
        self._received_at = time.perf_counter()

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Progress | None = None
    ) -> Collected:
        if self._broken_off:
            raise Interrupted
        self._use_room(policy)
        while self._again:
            arrays, random = self._again.popleft()
            self._acting.load_arrays(arrays)
            generator = np.random.default_rng()
            generator.bit_generator.state = random
            self._ask(self._acting, generator, self._version - 1)
        if not self._pending:
            self._ask(policy, rng, self._version)
        request = self._pending[0]
        began = time.perf_counter()
        ready = self._crew.ready(request)
        answers = self._crew.gather(request, self._looking(progress))
        waited = time.perf_counter() - began
        self._pending.popleft()
        if progress is not None:
            progress(self.n_steps, self.n_steps)
        lag = self._version - request.version
        collected = self._collected(policy, request, answers, lag)
        metrics = collected.metrics
        while len(self._pending) < self._lag:
            self._ask(policy, rng, self._version)
        self._version += 1
        metrics |= self._fleet_metrics(request.rows, answers, lag, ready, waited)
        return collected

    def _ask(self, policy: Policy, rng: np.random.Generator, version: int) -> None:
        random = rng.bit_generator.state
        request = Request(self._index, version, weights_of(policy), self.draw(policy, rng), random)
        self._index += 1
        self._crew.ask(request)
        self._pending.append(request)

    def _looking(self, progress: Progress | None) -> Any:
        if progress is None:
            return None
        shares = len(self._crew.rows)

        def look(missing: int) -> None:
            # Actors are not asked how far they are: a rollout is at least as far as those that are done.
            self.steps_done = (shares - missing) * self.n_steps // shares
            progress(min(self.steps_done, self.n_steps - 1), self.n_steps)

        return look

    def _collected(self, policy: Policy, request: Request, answers: list[Answer], lag: int) -> Collected:
        """Rows joined, evaluated by the policy that acted and, if asked for, by the one that learns."""
        truncated = self._join(request.rows, answers)
        acting = policy
        if lag:
            load_weights(self._acting, request.weights)
            acting = self._acting
        self._evaluate(acting, truncated)
        rollout = self.rollout
        rollout.older_policy, rollout.log_ratios = lag > 0, None
        if lag and self._weigh:
            acted = rollout.log_probs.copy()
            self._evaluate_now(policy, truncated)
            rollout.log_ratios = rollout.log_probs - acted
            rollout.log_probs[...] = acted
        with np.errstate(over="ignore", invalid="ignore"):
            metrics = rollout_metrics(rollout)
        if self.envs.restarts or "workers" in self.envs.backend:
            inner = sum(answer.data["restarts"] for answer in answers)
            metrics["env/restarts"] = self.envs.restarts + inner
        ended = sorted((e for answer in answers for e in answer.data["episodes"]), key=lambda e: (e[0], e[1]))
        return Collected(rollout, [Episode(*episode[2:]) for episode in ended], metrics)

    def _join(self, dealt: list[tuple[int, int]], answers: list[Answer]) -> list[Ending]:
        """Write the rows of each actor to their places; where episodes were truncated, in order."""
        rollout, frames = self.rollout, self._frames
        rollout.part_sums = dict.fromkeys(self.envs.reward_parts, 0.0)
        rollout.streams, rollout.observed = (), False
        rollout.begun = np.empty(self.envs.n_envs, bool)
        ages = np.zeros(self.envs.n_envs, np.int64)
        for (start, stop), (data, arrays) in zip(dealt, answers, strict=True):
            rows = slice(start, stop)
            for name in ("actions", "rewards", "terminated", "truncated", "life_lost"):
                getattr(rollout, name)[:, rows] = arrays[name]
            if self._on_device:
                self._put_all(rows, arrays["obs"])
            else:
                rollout.obs[:, rows] = arrays["obs"]
            rollout.begun[rows] = arrays["begun"]
            if rollout.masks is not None:
                rollout.masks[:, rows] = arrays["masks"]
            if "log_probs" in arrays:
                rollout.log_probs[:, rows], rollout.values[:, rows] = arrays["log_probs"], arrays["values"]
            if "head_values" in arrays and rollout.head_values is not None:
                rollout.head_values[:, :, rows] = arrays["head_values"]
            if frames is not None:
                ages[rows] = arrays["ages"]
            for name, total in data["part_sums"].items():
                rollout.part_sums[name] += total
        if frames is not None:
            frames.follow(ages, rollout.obs, rollout.episode_ends)
        self._episodes_begun += rollout.episode_ends.sum(0)
        self._clock += self.n_steps
        rollout.final_obs = _endings("final", dealt, answers)
        return _endings("cut", dealt, answers)

    def _put_all(self, rows: slice, obs: np.ndarray) -> None:
        """Pixels of some envs to where the learner's device keeps them."""
        for t in range(len(obs)):
            self._acting.put_pixels(self.rollout.pixels[t, rows], obs[t])

    def _evaluate_now(self, policy: Policy, truncated: list[Ending]) -> None:
        """Log-probabilities and values by the policy as it is now."""
        self._evaluate(policy, truncated)
        if not self._evaluates_acting:
            return
        rollout = self.rollout
        t, n = rollout.rewards.shape
        masks = None if rollout.masks is None else rollout.masks[:-1].reshape(t * n, -1)
        actions = rollout.actions.reshape(t * n, *rollout.actions.shape[2:])
        log_probs, values = policy.evaluate_actions(rollout.x, actions, masks)
        rollout.log_probs[...] = log_probs.reshape(t, n)
        if rollout.head_values is None:
            rollout.values[:-1] = values.reshape(t, n)
        else:
            rollout.values[:-1] = values[0].reshape(t, n)
            rollout.head_values[:, :-1] = values[1:].reshape(-1, t, n)

    def _fleet_metrics(
        self, dealt: list[tuple[int, int]], answers: list[Answer], lag: int, ready: int, waited: float
    ) -> dict[str, float]:
        rates = [
            (stop - start) * self.n_steps / max(answer.data["seconds"], 1e-9)
            for (start, stop), answer in zip(dealt, answers, strict=True)
        ]
        received = sum(array.nbytes for answer in answers for array in answer.arrays.values())
        now = time.perf_counter()
        since, self._received_at = now - self._received_at, now
        metrics = {
            "train/policy_lag/mean": float(lag),
            "train/policy_lag/max": float(lag),
            "time/actors/connected": float(self._crew.n_actors),
            "time/actors/queue_depth": float(ready),
            "time/actors/wait_seconds": waited,
            "time/actors/bytes_per_second": received / max(since, 1e-9),
            "time/actors/slowest": min(rates) * len(rates) / sum(rates),
        }
        if len(rates) <= _NAMED_ACTORS:
            metrics |= {f"time/actor/{number}/steps_per_second": rate for number, rate in enumerate(rates)}
        return metrics

    def _use_room(self, policy: Policy) -> None:
        """Deal the rows again if machines have joined."""
        if not self._crew.has_room():
            return
        for request in self._pending:  # what is at hand is of the rows as they were
            self._crew.gather(request)
            request.before = self._joined_state(request.index)
        state = self._joined_state(None)
        before = self._crew.n_actors
        self._crew.muster_again()
        notice = None if state is None else self._load_into_shares(state)
        logging.getLogger("gymnast").info(
            "%d actors instead of %d share the envs%s",
            self._crew.n_actors,
            before,
            f"; {notice}" if notice else "",
        )

    # States

    def drop(self) -> None:
        """Give up what is being collected. What was asked for with fixed weights can be collected again."""
        self._broken_off = True
        if self._lag:
            self._dropped = self.state()
            return
        deadline = time.monotonic() + _DROP_SECONDS
        unheard = [ticket for request in self._pending for ticket in request.tickets]
        while unheard and time.monotonic() < deadline:
            done = self._crew.fleet.wait(unheard, 0.05)
            unheard = [ticket for ticket in unheard if ticket not in done]
        state = None if unheard else self._joined_state(None)
        self._crew.forget()
        if state is not None:
            self._dropped = {"envs": without_episodes(state["envs"]), "totals": state["totals"]}
        else:  # only which episodes were begun is known: a resumed run plays others
            envs = [{"episodes": int(begun)} for begun in self._episodes_begun]
            self._dropped = {"envs": {"kind": "single", "envs": envs}, "totals": np.zeros(len(envs))}

    def state(self) -> dict[str, Any] | None:
        if self._dropped is not None:
            return self._dropped
        if not self._pending:
            state = self._joined_state(None)
            kept = list(self._again)
        else:
            first = self._pending[0]
            state = first.before or self._joined_state(first.index)
            kept = [(self._arrays(request), request.random) for request in self._pending]
        if state is None or not kept or not self.envs.carries_state:
            return state
        ahead = [{"policy": arrays, "random": random} for arrays, random in kept]
        return {**state, "ahead": ahead[0], **({"further": ahead[1:]} if ahead[1:] else {})}

    def _arrays(self, request: Request) -> dict[str, np.ndarray]:
        load_weights(self._acting, request.weights)
        return self._acting.arrays()

    def _joined_state(self, before: int | None) -> dict[str, Any] | None:
        shares = range(len(self._crew.rows))
        answers = self._crew.ask_each([{"do": "state", "share": share, "before": before} for share in shares])
        states = [decode(answer.data["state"]) for answer in answers]
        return None if any(state is None for state in states) else joined(states)

    def load_state(self, policy: Policy, state: dict[str, Any]) -> str | None:
        self._pending.clear()
        self._crew.forget()
        notice = self._load_into_shares(state)
        self._again.clear()
        if notice is None and self._lag and "ahead" in state:
            for kept in [state["ahead"], *state.get("further", ())][: self._lag]:
                self._again.append((kept["policy"], kept["random"]))
        return notice

    def _load_into_shares(self, state: dict[str, Any]) -> str | None:
        parts = cut(state, self._crew.rows)
        messages = [{"do": "load", "share": share, "state": encode(part)} for share, part in enumerate(parts)]
        answers = self._crew.ask_each(messages)
        for (start, stop), answer in zip(self._crew.rows, answers, strict=True):
            rows = slice(start, stop)
            if self._on_device:
                self._acting.put_pixels(self.rollout.pixels[-1, rows], answer.arrays["obs"])
            else:
                self.rollout.obs[-1, rows] = answer.arrays["obs"]
            if self.rollout.masks is not None:
                self.rollout.masks[-1, rows] = answer.arrays["masks"]
        notices = [answer.data["notice"] for answer in answers if answer.data["notice"] is not None]
        if self._frames is not None:
            self._frames.load_state(None if notices else state.get("frames"))
        if notices and len(state["totals"]) != self.envs.n_envs:
            return "the state of the envs is of another number of envs: new episodes start"
        return notices[0] if notices else None

    def close(self) -> None:
        self._pending.clear()
        self._crew.close()


def _endings(name: str, dealt: list[tuple[int, int]], answers: list[Answer]) -> list[Ending]:
    """Where episodes of all actors ended, step by step and in the order of the envs, as in one process."""
    parts = [answer.arrays for answer in answers]
    steps = np.concatenate([part[f"{name}_steps"] for part in parts])
    if not len(steps):
        return []
    starts = [start for start, _ in dealt]
    envs = np.concatenate([part[f"{name}_envs"] + at for part, at in zip(parts, starts, strict=True)])
    last = np.concatenate([part[f"{name}_obs"] for part in parts])
    order = np.lexsort((envs, steps))
    steps, envs, last = steps[order], envs[order], last[order]
    edges = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    return [(int(steps[a]), envs[a:b], last[a:b]) for a, b in pairwise(edges)]
