"""Stacked frames along a rollout, which keeps each observation once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.policies.frame_stack import FrameHistory, StackedRows, frame_index
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout


class RolloutFrames:
    """The last frames of N envs, and the samples that they and a rollout make up."""

    def __init__(self, policy: Policy, n_steps: int, n_envs: int) -> None:
        self.k = policy.frame_stack
        self._history = FrameHistory(policy.form, self.k, n_envs)
        self._before = self._history.frames[:, 1:].copy()  # [N, k-1, …] seen before the rollout
        self.ages = np.zeros(n_envs, np.int64)

    def begin(self, ages: np.ndarray) -> None:
        """A rollout begins, with each env so many steps into its episode."""
        self._before[...] = self._history.frames[:, 1:]
        # A history that was just begun (a resume with another frame_stack) has only the current frame.
        self.ages = np.where(self._history.fresh, 0, ages)

    def push(self, obs: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """All that is seen now [N, k, …] by these envs."""
        return self._history.push(obs, rows)

    def reset(self, done: np.ndarray) -> None:
        """Episodes of these envs have ended."""
        self._history.reset(done)

    def follow(self, ages: np.ndarray, obs: np.ndarray, ends: np.ndarray) -> None:
        """A rollout begins that was collected elsewhere, and is at its end: ages [N] as in `begin`, its
        observations [T+1, N, …], and where episodes ended [T, N]."""
        self._before[...] = self._history.frames[:, 1:]
        self.ages = ages
        steps = len(ends)
        for t in range(max(0, steps - self.k), steps):  # of earlier ones nothing is left
            self._history.push(obs[t])
            self._history.reset(ends[t])

    def samples(
        self, policy: Policy, obs: np.ndarray, rollout: Rollout, truncated: list[tuple[int, np.ndarray]]
    ) -> StackedRows:
        """What was seen at each step [T·N], after the rollout [N], and at the end of truncated episodes [C].

        obs: the rollout's observations and the true last ones, [T·N + N + C, …], each once.
        """
        before = self._before.swapaxes(0, 1).reshape(-1, *obs.shape[1:])
        frames = policy.preprocessor.apply(np.concatenate([before, obs]))
        index = frame_index(self.k, self.ages, rollout.episode_ends, truncated)
        return policy.stacked_rows(frames, index)

    def state(self) -> dict[str, Any]:
        return self._history.state()

    def load_state(self, state: dict[str, Any] | None) -> None:
        self._history.load_state(state)
