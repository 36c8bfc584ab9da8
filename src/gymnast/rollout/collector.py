"""Collecting experience: act, step, remember.

Inside the loop only what acting needs is computed. Log-probabilities, values and the values of
cut-off episodes come from one batched forward pass afterwards, under the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnast.envs.contract import Envs
from gymnast.policies.observation_form import apart, put_together
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout, allocate_rollout
from gymnast.rollout.frames import RolloutFrames
from gymnast.rollout.sequences import sequences_of


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished training episode."""

    total: float  # sum of rewards, wrappers' shares included
    plain: float  # the env's own rewards alone
    length: int
    values: dict[str, float] = field(default_factory=dict)  # what the env told of it (`Envs.episode_values`)


class Collector:
    """Owns the vector env, the current observations and the running episodes; nothing else."""

    def __init__(self, envs: Envs, policy: Policy, n_steps: int, sequence_length: int | None = None) -> None:
        self.envs = envs
        self.n_steps = n_steps
        n, distribution = envs.n_envs, policy.distribution
        first = envs.reset()
        masks = envs.masks
        self.rollout = allocate_rollout(
            n_steps,
            n,
            first.shape[1:],
            first.dtype,
            distribution.action_shape,
            distribution.action_dtype,
            None if masks is None else masks.shape[1],
        )
        if self.rollout.masks is not None:
            self.rollout.masks[-1] = masks
        self.rollout.obs[-1] = first  # the next rollout starts from the last row
        # The policy's memory, if it has one, in sequences of so many steps (unset: of the whole rollout).
        network = policy.recurrent
        self._memory = network.trace(n_steps, n, sequence_length or n_steps) if network is not None else None
        # What the policy saw before the rollout, if it stacks frames.
        self._frames = RolloutFrames(policy, n_steps, n) if policy.frame_stack > 1 else None
        self._totals, self._parts = np.zeros(n), np.zeros(n)
        self._lengths = np.zeros(n, np.int64)
        self.part_sums: dict[str, float] = {}
        self.steps_done = 0  # of the rollout under way, for whoever tells of an env that failed

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Rollout, list[Episode]]:
        """Fill the rollout with T steps; also the episodes that ended in it."""
        rollout, envs, distribution = self.rollout, self.envs, policy.distribution
        noise = distribution.noise(rng, self.n_steps, envs.n_envs)
        episodes: list[Episode] = []
        cut_off: list[tuple[int, np.ndarray, np.ndarray]] = []  # step, envs, true last observations
        self.part_sums = dict.fromkeys(envs.reward_parts, 0.0)
        rollout.obs[0] = rollout.obs[-1]
        rollout.begun = self._lengths == 0
        masks, memory, frames = rollout.masks, self._memory, self._frames
        if frames is not None:
            frames.begin(self._lengths)
        if masks is not None:
            masks[0] = masks[-1]
        for t in range(self.n_steps):
            self.steps_done = t
            allowed = None if masks is None else masks[t]
            seen = rollout.obs[t] if frames is None else frames.push(rollout.obs[t])
            if memory is None:
                actions = policy.act(seen, noise[t], allowed)
            else:
                actions = memory.act(policy, t, seen, noise[t], allowed)
            step = envs.step(distribution.to_env(actions))
            rollout.actions[t] = actions
            rollout.obs[t + 1] = step.obs
            if masks is not None:
                masks[t + 1] = envs.masks
            rollout.rewards[t] = step.rewards
            rollout.terminated[t] = step.terminated
            rollout.truncated[t] = step.truncated
            self._totals += step.rewards
            self._lengths += 1
            for name, share in step.reward_parts.items():
                self._parts += share
                self.part_sums[name] += float(share.sum())
            if step.final_obs is not None:
                done = np.flatnonzero(step.terminated | step.truncated)
                episodes += self._finish(done, step.episode_values)
                cut = np.flatnonzero(step.truncated & ~step.terminated)
                if len(cut):
                    cut_off.append((t, cut, step.final_obs[cut]))
                if memory is not None:
                    memory.ended(done, cut)
                if frames is not None:
                    frames.reset(done)
            if progress is not None:
                progress(t + 1, self.n_steps)
        self._judge(policy, cut_off)
        return rollout, episodes

    def _finish(self, done: np.ndarray, values: dict[str, np.ndarray]) -> list[Episode]:
        totals, lengths = self._totals[done], self._lengths[done]
        plain = totals - self._parts[done]
        self._totals[done] = self._parts[done] = self._lengths[done] = 0
        return [
            Episode(t, p, n, _values_of(i, values) if values else {})
            for i, t, p, n in zip(
                done.tolist(), totals.tolist(), plain.tolist(), lengths.tolist(), strict=True
            )
        ]

    def _judge(self, policy: Policy, cut_off: list[tuple[int, np.ndarray, np.ndarray]]) -> None:
        """Log-probabilities and values of the whole rollout in one pass."""
        rollout = self.rollout
        t, n = rollout.rewards.shape
        obs = rollout.obs.reshape(-1, *rollout.obs.shape[2:])
        if cut_off:
            obs = np.concatenate([obs, *(last for _, _, last in cut_off)])
        if self._frames is None:
            x: Any = policy.encoder.encode(obs)
        else:
            x = self._frames.samples(policy, obs, rollout, [(step, cut) for step, cut, _ in cut_off])
        masks = None if rollout.masks is None else rollout.masks[:-1].reshape(t * n, -1)
        seen: Any = x
        if self._memory is not None:
            seen = self._memory.recall(x[t * n : (t + 1) * n], x[(t + 1) * n :])
            rollout.sequences = sequences_of(rollout, self._memory.starts)
        log_probs, values = policy.evaluate(
            seen, rollout.actions.reshape(t * n, *rollout.actions.shape[2:]), masks
        )
        rollout.x = x[: t * n]
        rollout.log_probs[...] = log_probs.reshape(t, n)
        rollout.values[...] = values[: (t + 1) * n].reshape(t + 1, n)
        rollout.bootstrap.fill(0.0)
        at = (t + 1) * n
        for step, cut, _ in cut_off:
            rollout.bootstrap[step, cut] = values[at : at + len(cut)]
            at += len(cut)

    def state(self) -> dict[str, Any]:
        """What a resumed run needs to go on with the very same episodes."""
        return {
            "obs": apart(self.rollout.obs[-1]),
            "totals": self._totals.copy(),
            "parts": self._parts.copy(),
            "lengths": self._lengths.copy(),
            "envs": self.envs.snapshot(),
            **({} if self.rollout.masks is None else {"masks": self.rollout.masks[-1].copy()}),
            **({} if self._memory is None else {"memory": self._memory.state.array()}),
            **({} if self._frames is None else {"frames": self._frames.state()}),
        }

    def load_state(self, state: dict[str, Any]) -> bool:
        """Go on from `state`; False if the envs had to start fresh episodes."""
        fresh = self.envs.restore(state["envs"])
        if fresh is None and self.rollout.masks is not None and "masks" not in state:
            fresh = self.envs.reset()  # masks are new to this run: what is allowed now, only a reset tells
        if self._memory is not None:
            self._memory.load_array(None if fresh is not None else state.get("memory"))
        if self._frames is not None:
            self._frames.load_state(None if fresh is not None else state.get("frames"))
        if fresh is not None:
            self.rollout.obs[-1] = fresh
            if self.rollout.masks is not None:
                self.rollout.masks[-1] = self.envs.masks
            return False
        if self.rollout.masks is not None:
            self.rollout.masks[-1] = state["masks"]
        put_together(state["obs"], self.rollout.obs[-1])
        self._totals[:], self._parts[:], self._lengths[:] = state["totals"], state["parts"], state["lengths"]
        return True


def _values_of(index: int, values: dict[str, np.ndarray]) -> dict[str, float]:
    """What one env told of the episode that it finished; NaN: it did not say."""
    told = {name: float(array[index]) for name, array in values.items()}
    return {name: value for name, value in told.items() if not math.isnan(value)}
