"""Minibatches for a policy with a memory: whole sequences, cut into runs where episodes begin.

A rollout [T, N] is cut into sequences of L steps of one env each. A minibatch is a set of whole
sequences. Where an episode begins inside a sequence, the memory starts empty; so a sequence falls
into runs without a reset inside, and a run needs its first state and nothing else. Runs of similar
length go through the recurrent layer together, padded to the longest. A sequence's first run
starts from the state that acted then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gymnast.policies.memory_state import Array, InRuns, RunGroup, Runs

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Batch
    from gymnast.rollout.buffer import Rollout

MAX_PADDING = 2.0  # cells of a group per sample; above it, short runs get a group of their own


@dataclass(frozen=True, slots=True)
class Sequences:
    """The sequences of a rollout; number s·N + n is steps s·L … s·L + L - 1 of env n."""

    length: int  # L
    begins: np.ndarray  # [T, N] bool: an episode's first step, other than by being the first row
    states: Array  # [T/L, K, N, H] of the memory before each sequence, on the engine's device

    @property
    def count(self) -> int:
        return self.begins.size // self.length

    def batch_of(self, network: Any, batch: Batch, chosen: np.ndarray) -> Batch:
        """The samples of these sequences, of a batch whose rows are the rollout's."""
        rows, runs = self.runs_of(network, chosen)
        samples = batch.rows(rows)
        return replace(samples, x=InRuns(samples.x, runs), sequences=None)

    def runs_of(self, network: Any, chosen: np.ndarray) -> tuple[Array, Runs]:
        """Rows of these sequences' samples in [T·N], and how they form runs."""
        n_envs = self.begins.shape[1]
        part, env = np.divmod(chosen, n_envs)
        first = part * (self.length * n_envs) + env  # the sample that a sequence starts with
        begins = self.begins.reshape(-1, self.length, n_envs)[part, :, env]  # [S, L]
        rows, groups = [], []
        for members in grouped(*cut_into_runs(begins)):
            places, sequence, step = lay_out(members, self.length)
            rows.append(first[sequence] + step * n_envs)
            head = members.begin // self.length  # the sequence of each run
            fresh = np.flatnonzero(members.begin % self.length)  # runs that begin with an episode
            states = network.starting_states(self.states, part[head], env[head], fresh)
            steps, n_runs = int(members.length[0]), len(members.length)
            groups.append(RunGroup(steps, n_runs, network.to_engine(places), states))
        return network.to_engine(np.concatenate(rows)), Runs(tuple(groups))

    def minibatches(self, network: Any, batch: Batch, size: int, rng: np.random.Generator) -> Iterator[Batch]:
        """All sequences in random order, `size` samples at a time."""
        order = rng.permutation(self.count)
        step = size // self.length
        for start in range(0, self.count, step):
            yield self.batch_of(network, batch, order[start : start + step])

    def whole(self, network: Any, batch: Batch) -> Batch:
        """All sequences as one minibatch."""
        return self.batch_of(network, batch, np.arange(self.count))


def sequences_of(rollout: Rollout, states: Array) -> Sequences:
    """The sequences of a rollout, from the states [S, K, N, H] that they began with."""
    begins = np.zeros(rollout.rewards.shape, bool)
    begins[1:] = rollout.episode_ends[:-1]
    return Sequences(len(begins) // len(states), begins, states)


@dataclass(frozen=True, slots=True)
class RunsOf:
    """Runs by the sample they begin with (in sequences laid end to end) and their length, longest first."""

    begin: np.ndarray  # [R]
    length: np.ndarray  # [R]


def cut_into_runs(begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First sample and length of each run of begins [S, L], longest first; a sequence's start begins one."""
    cuts = begins.copy()
    cuts[:, 0] = True
    begin = np.flatnonzero(cuts)
    length = np.diff(begin, append=cuts.size)
    order = np.argsort(-length, kind="stable")
    return begin[order], length[order]


def grouped(begin: np.ndarray, length: np.ndarray) -> Iterator[RunsOf]:
    """All runs as one group if that needs little padding, else runs within a factor of two of each other.

    So cells and steps are at most about twice what they could be, with few calls.
    """
    if length[0] * len(length) <= MAX_PADDING * length.sum():
        yield RunsOf(begin, length)
        return
    start = 0
    while start < len(length):
        stop = start + int(np.searchsorted(-length[start:], -length[start] / 2))
        yield RunsOf(begin[start:stop], length[start:stop])
        start = stop


def lay_out(runs: RunsOf, sequence_length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each sample, step by step, run by run: its cell in [steps, runs], its sequence, its step in it."""
    inside = np.arange(runs.length[0])[:, None] < runs.length  # [steps, R]
    places = np.flatnonzero(inside)
    offset, run = np.divmod(places, len(runs.length))
    sequence, step = np.divmod(runs.begin[run] + offset, sequence_length)
    return places, sequence, step
