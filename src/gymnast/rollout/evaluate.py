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
from gymnast.envs.mix.mixed import task_rows
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import EnvSpec
from gymnast.policies.policy import Policy

MAX_NATIVE_ENVS = 256  # a native vector env steps this many for little more than the cost of one
MAX_SINGLE_ENVS = 32


@dataclass(frozen=True, slots=True)
class Score:
    """Returns and lengths of the episodes, in the order they were started."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    seconds: float
    # What the env reported of them (`Envs.episode_values`); NaN where it did not.
    values: dict[str, tuple[float, ...]] = field(default_factory=dict)
    # The tasks of a mix, whose episodes come one task after the other, the same number of each.
    tasks: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The score; of a mix the mean over its tasks, since each has the same number of episodes."""
        return float(np.mean(self.returns))

    def by_task(self) -> dict[str, Score]:
        """The score of each task of a mix; nothing for a plain environment."""
        size = len(self.returns) // max(len(self.tasks), 1)
        own = {name: slice(index * size, (index + 1) * size) for index, name in enumerate(self.tasks)}
        return {
            name: Score(
                self.returns[rows],
                self.lengths[rows],
                self.seconds,
                {key: values[rows] for key, values in self.values.items()},
            )
            for name, rows in own.items()
        }

    def solves(self, spec: EnvSpec) -> bool | None:
        """Whether it counts as solved; None where there is no threshold."""
        return spec.is_solved(self.mean, {name: own.mean for name, own in self.by_task().items()})

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
            **{f"eval/episode/{name}": mean for name, mean in self._mean_values().items()},
            **{
                f"eval/task/{task}/{name}": value
                for task, score in self.by_task().items()
                for name, value in score._task_metrics().items()
            },
        }

    def _task_metrics(self) -> dict[str, float]:
        return {
            "return/mean": self.mean,
            "length/mean": float(np.mean(self.lengths)),
            **{f"episode/{name}": mean for name, mean in self._mean_values().items()},
        }

    def _mean_values(self) -> dict[str, float]:
        reported = {name: values for name, values in self.values.items() if not np.isnan(values).all()}
        return {name: float(np.nanmean(values)) for name, values in reported.items()}


def evaluation_envs(config: EnvConfig, episodes: int) -> int:
    """How many envs to step side by side for this many episodes.

    Once the last episode has been started, envs that are done keep stepping until it ends. That
    is free in a native vector env, so there each episode gets its own env; elsewhere four share one.
    """
    from gymnast.envs.backends.native import why_not_native
    from gymnast.envs.families.table import family_of
    from gymnast.envs.measure.cache import usable_cores
    from gymnast.envs.single import one_per_process

    if (
        config.backend in ("auto", "native")
        and not family_of(config.id).native_as_single
        and why_not_native(config, training=False, render_mode=None) is None
    ):
        return min(episodes, MAX_NATIVE_ENVS)
    most = usable_cores() if one_per_process(config) else MAX_SINGLE_ENVS  # a process each is expensive
    return max(1, min(episodes // 4, most))


def evaluate(
    policy: Policy,
    envs: Envs,
    episodes: int,
    *,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Run `episodes` episodes (of each task of a mix), greedy, or sampling actions if given a generator."""
    began = time.perf_counter()
    n = envs.n_envs
    totals, lengths = np.zeros(n), np.zeros(n, np.int64)
    tasks, task_of = _tasks_played(envs)
    total, finished = episodes * max(len(tasks), 1), 0
    started = np.bincount(task_of)  # of each task
    # Which of its task's episodes each env is playing; from `episodes` on: none that counts.
    episode_of = np.array([np.count_nonzero(task_of[:i] == task) for i, task in enumerate(task_of)])
    returns_of, lengths_of = np.zeros(total), np.zeros(total, np.int64)
    values_of = {name: np.full(total, np.nan) for name in envs.episode_values}
    obs, state = envs.reset(), policy.start(n)
    while finished < total:
        step = envs.step(policy.env_actions(obs, rng, envs.masks, state))
        totals += step.rewards
        lengths += 1
        if step.final_obs is not None:
            done = step.terminated | step.truncated
            if step.life_lost is not None:  # with the wrappers of training: the game continues
                done &= ~step.life_lost
            for i in np.flatnonzero(done):
                if step.lost is not None and step.lost[i]:  # its env was lost: the episode is played again
                    totals[i] = lengths[i] = 0
                    continue
                task = task_of[i]
                if episode_of[i] < episodes:
                    place = task * episodes + episode_of[i]
                    returns_of[place], lengths_of[place] = totals[i], lengths[i]
                    for name, values in step.episode_values.items():
                        values_of[name][place] = values[i]
                    finished += 1
                episode_of[i] = started[task]
                started[task] += 1
                totals[i] = lengths[i] = 0
            state.reset(done)
        if progress is not None:
            progress(finished, total)
        obs = step.obs
    return Score(
        tuple(returns_of.tolist()),
        tuple(lengths_of.tolist()),
        time.perf_counter() - began,
        {name: tuple(values.tolist()) for name, values in values_of.items()},
        tasks,
    )


def _tasks_played(envs: Envs) -> tuple[tuple[str, ...], np.ndarray]:
    """The tasks of a mix that have envs here, and which of them each env plays [N]."""
    mixed = task_rows(envs)
    if mixed is None:
        return (), np.zeros(envs.n_envs, np.int64)
    names, task_of = mixed
    played, place = np.unique(task_of, return_inverse=True)
    return tuple(names[task] for task in played), place
