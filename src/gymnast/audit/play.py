"""Playing whole episodes and keeping every reward: by chance, or by a policy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gymnast.envs.contract import Envs, Step
from gymnast.policies.policy import Policy
from gymnast.spaces.plain import random_actions

MOST_STEPS = 300_000  # of all envs together
MOST_SECONDS = 60.0


@dataclass(slots=True)
class Played:
    """Episodes of one policy, each with the rewards of all its steps."""

    policy: str  # random, sampled or greedy
    episodes: list[np.ndarray] = field(default_factory=list)  # rewards [length]
    cut: int = 0  # episodes among them that the limit of this audit cut off
    truncated: int = 0  # episodes among them that a time limit of the env's cut off
    part_sums: dict[str, float] = field(default_factory=dict)  # Σ|part| by name
    own_sum: float = 0.0  # Σ|reward less all parts|

    @property
    def rewards(self) -> np.ndarray:
        return np.concatenate(self.episodes) if self.episodes else np.zeros(0)

    @property
    def returns(self) -> np.ndarray:
        return np.array([episode.sum() for episode in self.episodes])

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(episode) for episode in self.episodes], np.int64)


@dataclass(frozen=True, slots=True)
class PlayedSoFar:
    """What a watcher sees while episodes are played."""

    policy: str
    episodes: int  # that have ended, of `wanted`
    wanted: int
    steps: int  # of the episodes that count
    last_return: float | None  # of the episode that ended last
    now: dict[str, float]  # each part of the reward that the first env gave in its last step; `env`: the rest
    shares: dict[str, float]  # Σ|part| / Σ|r| so far


Act = Callable[[np.ndarray], np.ndarray]
Watch = Callable[[PlayedSoFar], None]
_WATCH_SECONDS = 0.1  # between two looks


def play_random(envs: Envs, episodes: int, seed: int, watch: Watch | None = None) -> Played:
    """Every allowed action as likely as any other."""
    random = np.random.default_rng([seed, 0xA0D1])

    def act(obs: np.ndarray) -> np.ndarray:
        return random_actions(envs.action_space, envs.n_envs, random, envs.masks)

    return _play("random", envs, episodes, act, lambda done: None, watch)


def play_policy(
    envs: Envs, episodes: int, policy: Policy, rng: np.random.Generator | None, watch: Watch | None = None
) -> Played:
    """Greedy, or sampling if given a generator."""
    state = policy.start(envs.n_envs)

    def act(obs: np.ndarray) -> np.ndarray:
        return policy.env_actions(obs, rng, envs.masks, state)

    return _play("greedy" if rng is None else "sampled", envs, episodes, act, state.reset, watch)


def _play(
    name: str,
    envs: Envs,
    episodes: int,
    act: Act,
    forget: Callable[[np.ndarray], None],
    watch: Watch | None,
) -> Played:
    """Exactly `episodes` are started and counted, so that short ones are not favoured. Where time runs out
    first, those that are still running count as far as they went."""
    played = Played(name, part_sums=dict.fromkeys(envs.reward_parts, 0.0))
    n = envs.n_envs
    running: list[list[float]] = [[] for _ in range(n)]
    counts = np.arange(n) < episodes  # whether what an env plays now is one of those that count
    started, total_steps, counted_steps = min(n, episodes), 0, 0
    obs = envs.reset()
    until = time.monotonic() + MOST_SECONDS
    next_look, reward_sum = 0.0, 0.0
    while counts.any() and total_steps < MOST_STEPS and time.monotonic() < until:
        step = envs.step(act(obs))
        total_steps += n
        _take_parts(played, step.rewards, step.reward_parts, counts)
        counted = counts.copy()
        counted_steps += int(counted.sum())
        for i in np.flatnonzero(counts):
            running[i].append(float(step.rewards[i]))
        done = step.terminated | step.truncated
        if step.life_lost is not None:
            done = done & ~step.life_lost
        for i in np.flatnonzero(done):
            if counts[i]:
                if step.lost is not None and step.lost[i]:  # its env died: the episode is played again
                    running[i] = []
                    continue
                played.episodes.append(np.array(running[i]))
                played.truncated += bool(step.truncated[i]) and not step.terminated[i]
            running[i] = []
            counts[i] = started < episodes
            started += bool(counts[i])
        if done.any():
            forget(done)
        obs = step.obs
        if watch is not None:
            reward_sum += float(np.abs(step.rewards[counted]).sum())
            if time.monotonic() >= next_look or not counts.any():
                next_look = time.monotonic() + _WATCH_SECONDS
                watch(_so_far(played, episodes, counted_steps, step, reward_sum))
    for i in np.flatnonzero(counts):
        if running[i]:
            played.episodes.append(np.array(running[i]))
            played.cut += 1
    return played


def _so_far(played: Played, wanted: int, steps: int, step: Step, reward_sum: float) -> PlayedSoFar:
    now = {name: float(values[0]) for name, values in step.reward_parts.items()}
    now["env"] = float(step.rewards[0]) - sum(now.values())
    sums = {**played.part_sums, "env": played.own_sum}
    last = float(played.episodes[-1].sum()) if played.episodes else None
    shares = {name: value / reward_sum if reward_sum else 0.0 for name, value in sums.items()}
    return PlayedSoFar(played.policy, len(played.episodes), wanted, steps, last, now, shares)


def _take_parts(
    played: Played, rewards: np.ndarray, parts: dict[str, np.ndarray], counts: np.ndarray
) -> None:
    own = rewards
    for name, values in parts.items():
        played.part_sums[name] = played.part_sums.get(name, 0.0) + float(np.abs(values[counts]).sum())
        own = own - values
    played.own_sum += float(np.abs(own[counts]).sum())
