"""Scoring a policy: whole episodes on envs of its own.

Exactly `episodes` episodes are started, and every one that was started is counted, so short
episodes are not favoured when several envs run side by side. The envs start from the same seeds
each time: two evaluations of the same weights give the same score.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gymnast.envs.contract import Envs
from gymnast.envs.settings import EnvConfig
from gymnast.policies.policy import Policy

MOST_NATIVE_ENVS = 256  # a native vector env steps this many for little more than the price of one
MOST_SINGLE_ENVS = 32


@dataclass(frozen=True, slots=True)
class Score:
    """Returns and lengths of the episodes, in the order they were started."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    seconds: float
    # What the env told of them (`Envs.episode_values`); NaN where it did not.
    values: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    def metrics(self) -> dict[str, float]:
        """The evaluation's part of a metrics row."""
        return {
            "eval/return/mean": self.mean,
            "eval/return/std": float(np.std(self.returns)),
            "eval/return/min": min(self.returns),
            "eval/return/max": max(self.returns),
            "eval/length/mean": float(np.mean(self.lengths)),
            "eval/episodes": len(self.returns),
            "time/eval_seconds": self.seconds,
            **{
                f"eval/episode/{name}": float(np.nanmean(values))
                for name, values in self.values.items()
                if not np.isnan(values).all()
            },
        }


def evaluation_envs(config: EnvConfig, episodes: int) -> int:
    """How many envs to step side by side for this many episodes.

    Once the last episode has been started, envs that are through idle along until it ends. That
    is free in a native vector env, so there each episode gets its own; elsewhere a quarter does.
    """
    from gymnast.envs.native import why_not_native

    if (
        config.backend in ("auto", "native")
        and why_not_native(config, training=False, render_mode=None) is None
    ):
        return min(episodes, MOST_NATIVE_ENVS)
    return max(1, min(episodes // 4, MOST_SINGLE_ENVS))


def evaluate(
    policy: Policy,
    envs: Envs,
    episodes: int,
    *,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Run `episodes` episodes, greedy, or sampling actions if given a generator."""
    began = time.perf_counter()
    n = envs.n_envs
    totals, lengths = np.zeros(n), np.zeros(n, np.int64)
    episode_of = np.arange(n)  # which episode each env is playing; from `episodes` on: none that counts
    started, finished = min(n, episodes), 0
    returns_of, lengths_of = np.zeros(episodes), np.zeros(episodes, np.int64)
    values_of = {name: np.full(episodes, np.nan) for name in envs.episode_values}
    obs, state = envs.reset(), policy.start(n)
    while finished < episodes:
        step = envs.step(policy.env_actions(obs, rng, envs.masks, state))
        totals += step.rewards
        lengths += 1
        if step.final_obs is not None:
            for i in np.flatnonzero(step.terminated | step.truncated):
                if step.lost is not None and step.lost[i]:  # its env was lost: the episode is played again
                    totals[i] = lengths[i] = 0
                    continue
                if episode_of[i] < episodes:
                    returns_of[episode_of[i]], lengths_of[episode_of[i]] = totals[i], lengths[i]
                    for name, values in step.episode_values.items():
                        values_of[name][episode_of[i]] = values[i]
                    finished += 1
                episode_of[i] = started
                started += 1
                totals[i] = lengths[i] = 0
            state.reset(step.terminated | step.truncated)
        if progress is not None:
            progress(finished, episodes)
        obs = step.obs
    return Score(
        tuple(returns_of.tolist()),
        tuple(lengths_of.tolist()),
        time.perf_counter() - began,
        {name: tuple(values.tolist()) for name, values in values_of.items()},
    )
