"""Visits of cells, over the whole run and within running episodes.

Every observation is a visit: the first one of an episode and the one that each step leads to. Counts advance
in time order. The steps that several envs make at the same time see the counts from before that row, each
with its own visit added; then all of the row are counted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gymnast.parts.cells import CellFunction, build_cells, scramble

if TYPE_CHECKING:
    from gymnast.parts.cells import CellsConfig
    from gymnast.parts.part import PartContext
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions


def episode_begins(rollout: Rollout) -> np.ndarray:
    """[T, N]: row t holds the first observation of an episode."""
    return np.concatenate([rollout.begun[None], (rollout.terminated | rollout.truncated)[:-1]])


class CellCounts:
    """How often each cell was visited in the run: sorted keys and their counts."""

    def __init__(self) -> None:
        self.keys, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.keys)

    def visit(self, keys: np.ndarray, starts: np.ndarray, begins: np.ndarray) -> np.ndarray:
        """Count keys [T, N] and, before row t, the `starts` of episodes where begins [T, N]; the visits of
        each cell of `keys` so far, this one included [T, N]."""
        steps = len(keys)
        found, ids = np.unique(np.concatenate([keys.reshape(-1), starts]), return_inverse=True)
        cells, start_cells = ids[: keys.size].reshape(keys.shape), ids[keys.size :]
        counts = self._counts_of(found)
        ends = np.cumsum(np.count_nonzero(begins, axis=1))
        begin = 0
        visits = np.empty(keys.shape, np.int64)
        for t in range(steps):
            if ends[t] > begin:
                np.add.at(counts, start_cells[begin : ends[t]], 1)
                begin = ends[t]
            visits[t] = counts[cells[t]]
            np.add.at(counts, cells[t], 1)
        self._put(found, counts)
        return visits + 1

    def _counts_of(self, found: np.ndarray) -> np.ndarray:
        counts = np.zeros(len(found), np.int64)
        if len(self.keys):
            at = np.searchsorted(self.keys, found).clip(max=len(self.keys) - 1)
            known = self.keys[at] == found
            counts[known] = self.counts[at[known]]
        return counts

    def _put(self, found: np.ndarray, counts: np.ndarray) -> None:
        at = np.searchsorted(self.keys, found)
        known = np.zeros(len(found), bool)
        inside = at < len(self.keys)
        known[inside] = self.keys[at[inside]] == found[inside]
        self.counts[at[known]] = counts[known]
        self.keys = np.insert(self.keys, at[~known], found[~known])
        self.counts = np.insert(self.counts, at[~known], counts[~known])

    def state(self) -> dict[str, Any]:
        return {"keys": self.keys.copy(), "counts": self.counts.copy()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.keys, self.counts = state["keys"].copy(), state["counts"].copy()


class EpisodeVisits:
    """How often each cell was visited in the running episode of each env."""

    def __init__(self, n_envs: int) -> None:
        self.n_envs = n_envs
        # Visits of the episodes that run on into the next rollout
        self._envs, self._keys, self._counts = (
            np.empty(0, np.int64),
            np.empty(0, np.uint64),
            np.empty(0, np.int64),
        )

    def visit(self, keys: np.ndarray, starts: np.ndarray, begins: np.ndarray, done: np.ndarray) -> np.ndarray:
        """As of `CellCounts`, within the episode; `done` [T, N] where episodes end."""
        # Episodes are numbered so that `number % N` is the env; 0 … N-1 began before the rollout.
        episodes = np.cumsum(begins, axis=0) * self.n_envs + np.arange(self.n_envs)
        episode = np.concatenate([self._envs, episodes[begins], episodes.reshape(-1)])
        key = np.concatenate([self._keys, starts, keys.reshape(-1)])
        count = np.concatenate([self._counts, np.ones(len(starts) + keys.size, np.int64)])
        # The sort is stable: within an episode and a cell, visits stay in time order.
        order = np.lexsort((key, episode))
        episode, key, count = episode[order], key[order], count[order]
        same = (episode[1:] == episode[:-1]) & (key[1:] == key[:-1])
        first = np.concatenate([[True], ~same])
        total = np.cumsum(count)
        before = (total - count)[first]  # of each cell's first visit, what other cells had
        so_far = np.empty_like(total)
        so_far[order] = total - before[np.cumsum(first) - 1]
        last = np.concatenate([~same, [True]])
        runs_on = np.where(done[-1], -1, episodes[-1])  # the episode of each env that continues
        kept = last & (runs_on[episode % self.n_envs] == episode)
        self._envs, self._keys = episode[kept] % self.n_envs, key[kept]
        self._counts = (total - before[np.cumsum(first) - 1])[kept]
        return so_far[-keys.size :].reshape(keys.shape)

    def state(self) -> dict[str, Any]:
        return {
            "n_envs": self.n_envs,
            "envs": self._envs.copy(),
            "keys": self._keys.copy(),
            "counts": self._counts.copy(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        if state["n_envs"] == self.n_envs:  # otherwise new episodes start
            self._envs, self._keys = state["envs"].copy(), state["keys"].copy()
            self._counts = state["counts"].copy()


@dataclass(frozen=True, slots=True)
class Visited:
    """Of the cell that each step led to: its visits so far, this one included."""

    in_run: np.ndarray  # [T, N]
    in_episode: np.ndarray | None  # [T, N]


class Visits:
    """Counts the visits of a run's rollouts."""

    def __init__(
        self,
        cells: CellFunction,
        n_envs: int,
        task_of: np.ndarray | None = None,
        *,
        episodic: bool = False,
        settings: str = "",
    ) -> None:
        """`task_of`: which task of a mix each env plays; tasks share no cells.
        `settings`: those of the cells, so that counts of other cells are not taken from a checkpoint."""
        self.cells, self.counts, self._settings = cells, CellCounts(), settings
        self.episodes = EpisodeVisits(n_envs) if episodic else None
        self._task = np.zeros(n_envs, np.uint64) if task_of is None else scramble(task_of + 1)

    def take(self, rollout: Rollout, steps: Transitions) -> Visited:
        """Count what a rollout visited."""
        shape, begins = steps.rewards.shape, episode_begins(rollout)
        obs = steps.next_obs
        keys = self.cells(obs.reshape(-1, *obs.shape[2:])).reshape(shape) ^ self._task
        starts = np.empty(0, np.uint64)
        if begins.any():
            starts = self.cells(steps.obs[begins]) ^ self._task[np.nonzero(begins)[1]]
        in_run = self.counts.visit(keys, starts, begins)
        if self.episodes is None:
            return Visited(in_run, None)
        return Visited(in_run, self.episodes.visit(keys, starts, begins, steps.done))

    def state(self) -> dict[str, Any]:
        running = {} if self.episodes is None else {"episodes": self.episodes.state()}
        return {"cells": self._settings, "counts": self.counts.state(), **running}

    def load_state(self, state: dict[str, Any]) -> None:
        if state["cells"] != self._settings:
            logging.getLogger("gymnast").warning("explore.cells was changed: visits are counted from scratch")
            return
        self.counts.load_state(state["counts"])
        if self.episodes is not None and "episodes" in state:
            self.episodes.load_state(state["episodes"])


def build_visits(config: CellsConfig, context: PartContext, *, episodic: bool = False) -> Visits:
    from gymnast.envs.mix.mixed import task_rows

    envs = context.envs
    layout = context.config.policy.image.layout
    cells = build_cells(config, envs.observation_space, context.spec.observation_names, layout)
    mixed = task_rows(envs)
    tasks = None if mixed is None else mixed[1]
    return Visits(cells, envs.n_envs, tasks, episodic=episodic, settings=config.model_dump_json())
