"""Counts of cells against counting one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.parts.visits import CellCounts, EpisodeVisits, Visits
from gymnast.rollout.buffer import allocate_rollout
from gymnast.rollout.transitions import transitions_of

T, N, CELLS = 7, 3, 5


@dataclass
class OneByOne:
    """The same, in the plainest way."""

    run: Counter[int] = field(default_factory=Counter)
    episodes: list[Counter[int]] = field(default_factory=lambda: [Counter() for _ in range(N)])

    def visit(self, keys: np.ndarray, first: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        in_run, in_episode = np.empty_like(keys), np.empty_like(keys)
        for t in range(T):
            for n in range(N):
                if begins[t, n]:
                    self.run[first[t, n]] += 1
                    self.episodes[n] = Counter([first[t, n]])
            for n in range(N):  # a row's steps happen at the same time
                in_run[t, n] = self.run[keys[t, n]] + 1
                self.episodes[n][keys[t, n]] += 1
                in_episode[t, n] = self.episodes[n][keys[t, n]]
            self.run.update(keys[t].tolist())
        return in_run, in_episode


def random_rollout(
    rng: np.random.Generator, begun: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    keys, first = rng.integers(0, CELLS, (2, T, N)).astype(np.uint64)
    done = rng.random((T, N)) < 0.2
    return keys, first, np.concatenate([begun[None], done[:-1]]), done


@given(seed=st.integers(0, 10_000), resumed=st.booleans())
def test_counts_are_those_of_counting_one_by_one_in_time_order(seed: int, resumed: bool) -> None:
    rng = np.random.default_rng(seed)
    run, episodes, plain, begun = CellCounts(), EpisodeVisits(N), OneByOne(), np.ones(N, bool)
    for _ in range(4):
        keys, first, begins, done = random_rollout(rng, begun)
        in_run, in_episode = plain.visit(keys, first, begins)
        assert (run.visit(keys, first[begins], begins) == in_run).all()
        assert (episodes.visit(keys, first[begins], begins, done) == in_episode).all()
        assert dict(zip(run.keys.tolist(), run.counts.tolist(), strict=True)) == dict(plain.run)
        assert (np.diff(run.keys.astype(np.int64)) > 0).all()
        begun = done[-1]
        if resumed:
            saved = run.state(), episodes.state()
            run, episodes = CellCounts(), EpisodeVisits(N)
            run.load_state(saved[0])
            episodes.load_state(saved[1])


def test_envs_that_start_again_forget_their_episode() -> None:
    episodes = EpisodeVisits(N)
    keys = np.zeros((T, N), np.uint64)
    begins, done = np.zeros((T, N), bool), np.zeros((T, N), bool)
    assert episodes.visit(keys, np.empty(0, np.uint64), begins, done)[-1].tolist() == [T] * N
    begins[0, 1] = True  # after a resume whose envs could not be restored
    after = episodes.visit(keys, np.array([9], np.uint64), begins, done)
    assert after[0].tolist() == [T + 1, 1, T + 1]


def test_episodes_of_another_number_of_envs_are_not_taken_over() -> None:
    episodes, more = EpisodeVisits(N), EpisodeVisits(N + 1)
    keys, none = np.zeros((T, N), np.uint64), np.zeros((T, N), bool)
    episodes.visit(keys, np.empty(0, np.uint64), none, none)
    more.load_state(episodes.state())
    assert len(more.state()["keys"]) == 0


@pytest.mark.parametrize("tasks", [None, np.array([0, 0, 1])])
def test_tasks_of_a_mix_share_no_cells(tasks: np.ndarray | None) -> None:
    rollout = allocate_rollout(T, N, (), np.dtype(np.int64), (), np.int64)
    rollout.begun = np.ones(N, bool)
    visits = Visits(lambda obs: obs.astype(np.uint64), N, tasks, episodic=True)
    visited = visits.take(rollout, transitions_of(rollout))
    assert len(visits.counts) == (1 if tasks is None else 2)
    assert visited.in_episode is not None
    assert (visited.in_episode[:, 0] == np.arange(2, T + 2)).all(), "the first observation is a visit"
    assert visited.in_run[0].tolist() == ([4, 4, 4] if tasks is None else [3, 3, 2])
