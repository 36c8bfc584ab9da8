"""Frame stacking in the policy: it sees the last k observations, of which a rollout keeps each once.

Before the k-th observation of an episode its first one is repeated for those that are missing, so
nothing of the previous episode is ever seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.policies.memory_state import MemoryState
from gymnast.spaces.observation_form import ObservationForm, apart, put_together


class FrameHistory:
    """The last k observations of each of N episodes; `Policy.start` makes it, acting moves it on."""

    def __init__(self, form: ObservationForm, k: int, n: int, memory: MemoryState | None = None) -> None:
        self.frames = np.zeros((n, k, *form.shape), form.dtype)  # oldest first
        self.fresh = np.ones(n, bool)  # whether the next observation is an episode's first
        self.memory = memory  # what else is remembered

    def push(self, obs: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Take the observations [N, …] of this step; all that is seen now [N, k, …], until the next push.

        With `rows`, of some of the episodes.
        """
        frames, fresh = self.frames[rows], self.fresh[rows]
        frames[:, :-1] = frames[:, 1:]
        frames[:, -1] = obs
        if fresh.any():
            frames[fresh] = obs[fresh][:, None]
            fresh[:] = False
        return frames

    def seen_with(self, obs: np.ndarray) -> np.ndarray:
        """What `push` would give [N, k, …], with nothing changed."""
        seen = np.concatenate([self.frames[:, 1:], obs[:, None]], 1)
        seen[self.fresh] = obs[self.fresh][:, None]
        return seen

    def reset(self, done: Any) -> None:
        """Forget, where an episode has ended: a mask [N] of bools, or indices."""
        self.fresh[done] = True
        if self.memory is not None:
            self.memory.reset(done)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {"frames": apart(self.frames), "fresh": self.fresh.copy()}

    def load_state(self, state: dict[str, Any] | None) -> None:
        """Continue from a checkpoint; with None, from new episodes."""
        if state is None:
            self.fresh[:] = True
        else:
            put_together(state["frames"], self.frames)
            self.fresh[:] = state["fresh"]


class StackedRows:
    """Samples of k preprocessed observations each, which are looked up only when a batch is formed."""

    __slots__ = ("flat", "frames", "index")

    def __init__(self, frames: Any, index: Any, flat: bool) -> None:
        self.frames = frames  # [R, …] preprocessed observations, each once
        self.index = index  # [B, k] which of them make up a sample, oldest first
        self.flat = flat  # whether a sample is one row of numbers [k · D]

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Any) -> StackedRows:
        return StackedRows(self.frames, self.index[rows], self.flat)

    def index_select(self, dim: int, index: Any) -> StackedRows:
        """Some of the samples, on either engine."""
        return StackedRows(self.frames, self.index[index], self.flat)

    def stacked(self) -> Any:
        """[B, k, …], or [B, k · D] of numbers."""
        frames = self.frames[self.index]
        return frames.reshape(len(frames), -1) if self.flat else frames


def frame_index(
    k: int, ages: np.ndarray, done: np.ndarray, cut_off: list[tuple[int, np.ndarray]]
) -> np.ndarray:
    """Which rows of k - 1 observations before a rollout [k-1, N], of its own [T+1, N] and of the true last
    ones of episodes that were cut off make up each sample: [T·N + N + C, k].

    ages: how many steps each env [N] was into its episode when the rollout began.
    done: [T, N] where an episode ended.
    cut_off: step and envs of those that were cut off, in the order of their last observations.
    """
    t, n = done.shape
    age = np.empty((t + 1, n), np.int64)
    age[0] = ages
    for step in range(t):
        age[step + 1] = np.where(done[step], 0, age[step] + 1)
    back = np.arange(k)[::-1]  # oldest first
    envs = np.arange(n)
    steps = np.arange(t + 1)[:, None, None] - np.minimum(back, age[:, :, None])  # [T+1, N, k]
    own = ((steps + k - 1) * n + envs[:, None]).reshape(-1, k)
    last, at = [own], (t + k) * n
    for step, cut in cut_off:
        # What was seen at that step, less its oldest, and the last observation on top.
        before = step - np.minimum(back[1:], age[step, cut, None])
        rows = np.empty((len(cut), k), np.int64)
        rows[:, :-1] = (before + k - 1) * n + cut[:, None]
        rows[:, -1] = at + np.arange(len(cut))
        last.append(rows)
        at += len(cut)
    return np.concatenate(last)
