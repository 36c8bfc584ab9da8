"""Collecting experience: act, step, store.

Inside the loop only what acting needs is computed. Log-probabilities, values and the values of
truncated episodes come from one batched forward pass afterwards, under the same weights. Networks that
read images are the exception: for them a second pass over the rollout costs more than it saves.

Running statistics of observations begin with the first rollout: they are taken once it is collected, and all
that is learned from it, memory states included, is computed with them. So the first update has inputs of the
same scale as all later ones, and its ratios start at 1; only the first actions were chosen without them.

Envs may come in groups (`envs/backends/groups.py`): while the policy acts for one group, the others step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.envs.backends.groups import Group, groups_of
from gymnast.envs.backends.remote_tally import actor_metrics
from gymnast.envs.contract import EnvFailure, Envs, Step
from gymnast.envs.mix.mixed import task_rows
from gymnast.envs.states import begin_new_episodes, without_episodes
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout, allocate_rollout
from gymnast.rollout.metrics import rollout_metrics
from gymnast.rollout.sequences import sequences_of
from gymnast.rollout.source import Collected, Episode, Interrupted, Progress
from gymnast.rollout.stacked_frames import RolloutFrames
from gymnast.spaces.observation_form import apart, put_together

Ending = tuple[int, np.ndarray, np.ndarray]  # step, envs, true last observations


@dataclass(frozen=True, slots=True)
class _Ended:
    """What ended in a rollout."""

    episodes: list[Episode]
    truncated: list[Ending]


class Collector:
    """Owns the vector env, the current observations and the running episodes; nothing else."""

    def __init__(
        self,
        envs: Envs,
        policy: Policy,
        n_steps: int,
        sequence_length: int | None = None,
        n_rollouts: int = 1,
        keep_final_obs: bool = False,
    ) -> None:
        """`n_rollouts`: how many are kept in turn, to learn from one while the next is filled.
        `keep_final_obs`: needed for transitions."""
        self.envs = envs
        self.n_steps = n_steps
        self._keep_final_obs = keep_final_obs
        self._groups = groups_of(envs)
        n = envs.n_envs
        first, masks = envs.reset(), envs.masks
        # The policy's memory, if it has one, in sequences of so many steps (unset: of the whole rollout).
        network = policy.recurrent
        self._memory = network.trace(n_steps, n, sequence_length or n_steps) if network is not None else None
        # What the policy saw before the rollout, if it stacks frames.
        self._frames = RolloutFrames(policy, n_steps, n) if policy.frame_stack > 1 else None
        self._evaluates_acting = policy.layout.encoder is not None and self._memory is None
        # Pixels that a GPU needs to act on are put there once, and stay.
        self._on_device = self._evaluates_acting and self._frames is None and policy.keeps_pixels
        self._rollouts = [
            self._allocate(policy, first, None if masks is None else masks.shape[1])
            for _ in range(n_rollouts)
        ]
        self.rollout, self._turn = self._rollouts[0], 0
        if self.rollout.masks is not None:
            self.rollout.masks[-1] = masks
        self._put(-1, slice(None), first, policy)  # the next rollout starts from the last row
        mixed = task_rows(envs)
        self._task_of = [0] * n if mixed is None else mixed[1].tolist()
        self._totals, self._parts = np.zeros(n), np.zeros(n)
        # Counting up every env at every step costs more than noting when its episode began.
        self._clock = 0  # vectorised steps collected before this rollout
        self._episode_began, self._life_began = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.steps_done = 0  # of the current rollout, to report where an env failed
        self._in_step = False  # whether steps were sent whose end was not received
        self._dropped: dict[str, Any] | None = None  # the state to resume from after `drop`

    def _allocate(self, policy: Policy, first: np.ndarray, mask_size: int | None) -> Rollout:
        """Memory for a rollout of observations like the first ones [N, …]."""
        distribution, n = policy.distribution, self.envs.n_envs
        rollout = allocate_rollout(
            self.n_steps,
            n,
            first.shape[1:],
            first.dtype,
            distribution.action_shape,
            distribution.action_dtype,
            mask_size,
            n_values=len(policy.layout.value_heads),
            keep_obs=not self._on_device,
        )
        if self._on_device:
            rollout.pixels = policy.pixels((self.n_steps + 1, n, *first.shape[1:]))
        return rollout

    def _put(self, t: int, rows: slice, obs: np.ndarray, policy: Policy) -> None:
        if self._on_device:
            policy.put_pixels(self.rollout.pixels[t, rows], obs)
        else:
            self.rollout.obs[t, rows] = obs

    def next_inputs(self) -> tuple[np.ndarray, np.ndarray | None]:
        masks = self.rollout.masks
        return self.last_obs, None if masks is None else masks[-1]

    @property
    def last_obs(self) -> np.ndarray:
        """What every env shows now [N, …]."""
        rollout = self.rollout
        return rollout.pixels[-1].cpu().numpy() if self._on_device else rollout.obs[-1]

    def collect(
        self, policy: Policy, rng: np.random.Generator, progress: Progress | None = None
    ) -> Collected:
        """Fill the rollout with T steps."""
        return self.collect_with(policy, self.draw(policy, rng), progress)

    def draw(self, policy: Policy, rng: np.random.Generator) -> np.ndarray:
        """All the randomness of acting in a rollout."""
        return policy.distribution.noise(rng, self.n_steps, self.envs.n_envs)

    def collect_with(self, policy: Policy, noise: np.ndarray, progress: Progress | None = None) -> Collected:
        """As `collect`, with randomness that was drawn before."""
        self._begin()
        self._in_step = True
        rollout, n_steps = self.rollout, self.n_steps
        ended: _Ended = _Ended([], [])
        for t in range(n_steps):
            for group in self._groups:
                if t:
                    self._store(t - 1, group, policy, ended)
                self._act(t, group, policy, noise[t])
            self.steps_done = t
            if progress is not None and t:
                progress(t, n_steps)
        for group in self._groups:
            self._store(n_steps - 1, group, policy, ended)
        self._in_step = False
        self._clock += n_steps
        if progress is not None:
            progress(n_steps, n_steps)
        self._evaluate(policy, ended.truncated)
        with np.errstate(over="ignore", invalid="ignore"):  # a reward that is not finite fails in the update
            metrics = rollout_metrics(rollout)
        if {"workers", "remote"} & set(self.envs.backend.split("+")):  # of some tasks of a mix, or of all
            metrics["env/restarts"] = self.envs.restarts
            metrics |= actor_metrics(self.envs)
        return Collected(rollout, ended.episodes, metrics)

    def _begin(self) -> None:
        """The next rollout starts where the last one ended."""
        if self._dropped is not None:
            raise Interrupted
        before = self.rollout
        self._turn = (self._turn + 1) % len(self._rollouts)
        rollout = self.rollout = self._rollouts[self._turn]
        rollout.part_sums = dict.fromkeys(self.envs.reward_parts, 0.0)
        rollout.streams = ()
        rollout.observed = False
        rollout.final_obs.clear()
        rollout.life_lost.fill(False)
        seen, last = (rollout.pixels, before.pixels) if self._on_device else (rollout.obs, before.obs)
        seen[0] = last[-1]
        rollout.begun = self._life_began == self._clock
        if self._frames is not None:
            self._frames.begin(self._clock - self._episode_began)
        if rollout.masks is not None and before.masks is not None:
            rollout.masks[0] = before.masks[-1]

    def _act(self, t: int, group: Group, policy: Policy, noise: np.ndarray) -> None:
        """Choose what a group does at step t, and let it begin."""
        rollout, rows = self.rollout, group.rows
        obs: Any = rollout.pixels[t, rows] if self._on_device else rollout.obs[t, rows]
        allowed = None if rollout.masks is None else rollout.masks[t, rows]
        noise = noise[:, rows]
        if self._frames is not None:
            obs = self._frames.push(obs, rows)
        if self._memory is not None:
            actions = self._memory.act(policy, t, obs, noise, allowed)
        elif self._evaluates_acting:
            actions, rollout.log_probs[t, rows], values = policy.act_and_evaluate(obs, noise, allowed)
            if rollout.head_values is None:
                rollout.values[t, rows] = values
            else:
                rollout.values[t, rows], rollout.head_values[:, t, rows] = values[0], values[1:]
        else:
            actions = policy.act(obs, noise, allowed)
        rollout.actions[t, rows] = actions
        group.envs.send(policy.distribution.to_env(actions))

    def _store(self, t: int, group: Group, policy: Policy, ended: _Ended) -> None:
        """Wait for a group's step t to end, and store it."""
        rollout, rows = self.rollout, group.rows
        step = group.envs.receive()
        self._put(t + 1, rows, step.obs, policy)
        if rollout.masks is not None:
            rollout.masks[t + 1, rows] = group.envs.masks
        rollout.rewards[t, rows] = step.rewards
        rollout.terminated[t, rows] = step.terminated
        rollout.truncated[t, rows] = step.truncated
        np.add(totals := self._totals[rows], step.rewards, out=totals)
        for name, part in step.reward_parts.items():
            self._parts[rows] += part
            rollout.part_sums[name] += float(part.sum())
        if step.final_obs is None:
            return
        over = np.flatnonzero(step.terminated | step.truncated)
        cut = np.flatnonzero(step.truncated & ~step.terminated)
        now = self._clock + t + 1
        self._life_began[over + group.start] = now
        if len(cut):
            ended.truncated.append((t, cut + group.start, step.final_obs[cut]))
        if self._keep_final_obs:
            rollout.final_obs.append((t, over + group.start, step.final_obs[over]))
        if step.life_lost is not None:  # the game continues, and all that is remembered of it stays
            rollout.life_lost[t, rows] = step.life_lost
            over = over[~step.life_lost[over]]
        ended.episodes.extend(self._finish(over, step, group.start, now))
        if self._memory is not None:
            self._memory.ended(over, cut)
        if self._frames is not None:
            self._frames.reset(over + group.start)

    def _finish(self, over: np.ndarray, step: Step, start: int, now: int) -> list[Episode]:
        """The episodes that ended in these envs of a group, whose counts start again.

        Those of envs that were lost in the middle are left out.
        """
        at = over + start
        totals, lengths = self._totals[at], now - self._episode_began[at]
        plain = totals - self._parts[at]
        self._totals[at] = self._parts[at] = 0
        self._episode_began[at] = now
        task, terminated = self._task_of, step.terminated[over]
        return [
            Episode(
                total,
                own,
                length,
                _values_of(i, step.episode_values) if step.episode_values else {},
                task[start + i],
                not ended,
            )
            for i, total, own, length, ended in zip(
                over.tolist(),
                totals.tolist(),
                plain.tolist(),
                lengths.tolist(),
                terminated.tolist(),
                strict=True,
            )
            if step.lost is None or not step.lost[i]
        ]

    def _evaluate(self, policy: Policy, truncated: list[Ending]) -> None:
        """Log-probabilities and values that are still missing, in one pass."""
        rollout, frames, memory = self.rollout, self._frames, self._memory
        t, n = rollout.rewards.shape
        after = [last for _, _, last in truncated]
        if policy.preprocessor.awaits_statistics:
            policy.preprocessor.observe(rollout.obs[:-1])
            rollout.observed = True
        if self._on_device:
            rollout.x = rollout.pixels[:-1].flatten(0, 1)
            x: Any = policy.preprocessor.apply(np.concatenate([self.last_obs, *after]))
        else:
            obs = rollout.obs.reshape(-1, *rollout.obs.shape[2:])
            obs = np.concatenate([obs, *after]) if after else obs
            if frames is None:
                x = policy.preprocessor.apply(obs)
            else:
                x = frames.samples(policy, obs, rollout, [(step, cut) for step, cut, _ in truncated])
            rollout.x = x[: t * n]
        if self._evaluates_acting and not rollout.observed:
            x = x if self._on_device else x[t * n :]
            rest = policy.evaluate_actions(x, rollout.actions[:0].reshape(0, *rollout.actions.shape[2:]))[1]
            _put_last(rollout, rest, n)
        else:
            seen: Any = x
            if memory is not None:
                if rollout.observed:
                    memory.replay(x)
                seen = memory.recall(x[t * n : (t + 1) * n], x[(t + 1) * n :])
                rollout.sequences = sequences_of(rollout, memory.starts)
            masks = None if rollout.masks is None else rollout.masks[:-1].reshape(t * n, -1)
            log_probs, values = policy.evaluate_actions(
                seen, rollout.actions.reshape(t * n, *rollout.actions.shape[2:]), masks
            )
            rollout.log_probs[...] = log_probs.reshape(t, n)
            if rollout.head_values is None:
                rollout.values[...] = values[: (t + 1) * n].reshape(t + 1, n)
            else:
                rollout.values[...] = values[0, : (t + 1) * n].reshape(t + 1, n)
                rollout.head_values[...] = values[1:, : (t + 1) * n].reshape(-1, t + 1, n)
            rest = values[..., t * n :]
        rollout.bootstrap.fill(0.0)
        if rollout.head_bootstrap is not None:
            rollout.head_bootstrap.fill(0.0)
        at = n
        for step, cut, _ in truncated:
            known = rest[..., at : at + len(cut)]
            if rollout.head_bootstrap is None:
                rollout.bootstrap[step, cut] = known
            else:
                rollout.bootstrap[step, cut], rollout.head_bootstrap[:, step, cut] = known[0], known[1:]
            at += len(cut)

    def drop(self) -> None:
        """Give up a rollout that was interrupted: the envs end their step, and a resumed run starts new
        episodes from their random states."""
        if not self._in_step:
            return
        self._in_step = False
        try:
            for group in self._groups:
                group.envs.receive()
            envs = without_episodes(self.envs.snapshot())
        except EnvFailure:
            self._dropped = {}
        else:
            self._dropped = {"envs": envs, "totals": self._totals.copy()}

    def state(self) -> dict[str, Any] | None:
        """What a resumed run needs to continue with the very same episodes."""
        if self._dropped is not None:
            return self._dropped or None
        return {
            "obs": apart(self.last_obs),
            "totals": self._totals.copy(),
            "parts": self._parts.copy(),
            "lengths": self._clock - self._episode_began,
            "ages": self._clock - self._life_began,
            "envs": self.envs.snapshot(),
            **({} if self.rollout.masks is None else {"masks": self.rollout.masks[-1].copy()}),
            **({} if self._memory is None else {"memory": self._memory.state.array()}),
            **({} if self._frames is None else {"frames": self._frames.state()}),
        }

    def load_state(self, policy: Policy, state: dict[str, Any]) -> str | None:
        """Continue from `state`; a notice if the envs had to start new episodes."""
        fresh = self.envs.restore(state["envs"])
        if fresh is None and self.rollout.masks is not None and "masks" not in state:
            # Masks are new to this run: only a reset gives the current ones.
            fresh = begin_new_episodes(self.envs, state["envs"])
        if self._memory is not None:
            self._memory.load_array(None if fresh is not None else state.get("memory"))
        if self._frames is not None:
            self._frames.load_state(None if fresh is not None else state.get("frames"))
        if fresh is not None:
            self._put(-1, slice(None), fresh, policy)
            if self.rollout.masks is not None:
                self.rollout.masks[-1] = self.envs.masks
            same_number = len(state["totals"]) == self.envs.n_envs
            reason = "cannot be restored" if same_number else "is of another number of envs"
            return f"the state of the envs {reason}: new episodes start"
        if self.rollout.masks is not None:
            self.rollout.masks[-1] = state["masks"]
        if self._on_device:
            self._put(-1, slice(None), state["obs"], policy)
        else:
            put_together(state["obs"], self.rollout.obs[-1])
        self._totals[:], self._parts[:] = state["totals"], state["parts"]
        self._episode_began[:] = self._clock - state["lengths"]
        self._life_began[:] = self._clock - state["ages"]
        return None

    def close(self) -> None:
        """Nothing to wait for; the envs are closed by whoever built them."""


def _put_last(rollout: Rollout, values: np.ndarray, n: int) -> None:
    """Values of the observations after the rollout, of one head or [V, …] of several."""
    if rollout.head_values is None:
        rollout.values[-1] = values[:n]
    else:
        rollout.values[-1], rollout.head_values[:, -1] = values[0, :n], values[1:, :n]


def _values_of(index: int, values: dict[str, np.ndarray]) -> dict[str, float]:
    """What one env reported at the end of its episode; NaN: nothing."""
    reported = {name: float(array[index]) for name, array in values.items()}
    return {name: value for name, value in reported.items() if not math.isnan(value)}
