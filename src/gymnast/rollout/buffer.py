"""A rollout: T steps of N envs, allocated once and filled again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gymnast.rollout.sequences import Sequences
    from gymnast.rollout.streams import Stream


@dataclass(slots=True)
class Rollout:
    """[T, N, …] arrays of one collection; `terminated` and `truncated` are never merged."""

    obs: np.ndarray  # [T+1, N, …] raw; the last row is what comes after the rollout
    actions: np.ndarray  # [T, N, …]
    rewards: np.ndarray  # [T, N] float32, as the learner sees them
    terminated: np.ndarray  # [T, N] bool
    truncated: np.ndarray  # [T, N] bool
    log_probs: np.ndarray  # [T, N] under the policy that acted
    values: np.ndarray  # [T+1, N]
    bootstrap: np.ndarray  # [T, N] value of the true last observation where truncated, else 0
    masks: np.ndarray | None = None  # [T+1, N, M] bool: allowed choices, where masks are used
    observed: bool = False  # the policy's statistics contain its observations already
    older_policy: bool = False  # an older policy collected it than the one that learns from it
    # [T, N] log-probability by the policy that learns, less that by the older one; None: they are not weighed
    log_ratios: np.ndarray | None = None
    # [N] whether row 0 begins an episode or a life
    begun: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    sequences: Sequences | None = None  # where states of the policy's memory begin, if it has one
    x: Any = field(default_factory=lambda: np.empty(0))  # [T·N, D] encoded observations
    # [T+1, N, …] instead of `obs`, which then has only one row, where a GPU keeps the pixels
    pixels: Any = None
    # [T, N] bool: where a life was lost: terminated for learning, while the episode continues
    life_lost: np.ndarray = field(default_factory=lambda: np.zeros((), bool))
    # Sums of the parts of the reward, by name
    part_sums: dict[str, float] = field(default_factory=dict)
    # Of value heads beyond the first, if there are any: [V-1, T+1, N], and [V-1, T, N] where truncated
    head_values: np.ndarray | None = None
    head_bootstrap: np.ndarray | None = None
    streams: tuple[Stream, ...] = ()  # rewards beside the env's, each with a value head of its own
    # Where episodes ended, if someone asked for transitions: step, envs, true last observations
    final_obs: list[tuple[int, np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def episode_ends(self) -> np.ndarray:
        """[T, N]: after these steps the policy starts with an empty memory."""
        return (self.terminated | self.truncated) & ~self.life_lost


def allocate_rollout(
    n_steps: int,
    n_envs: int,
    obs_shape: tuple[int, ...],
    obs_dtype: np.dtype,
    action_shape: tuple[int, ...],
    action_dtype: type,
    mask_size: int | None = None,
    *,
    n_values: int = 1,
    keep_obs: bool = True,
) -> Rollout:
    """Memory for rollouts of one size."""
    t, n = n_steps, n_envs
    return Rollout(
        obs=np.zeros((t + 1 if keep_obs else 1, n, *obs_shape), obs_dtype),
        actions=np.zeros((t, n, *action_shape), action_dtype),
        rewards=np.zeros((t, n), np.float32),
        terminated=np.zeros((t, n), bool),
        truncated=np.zeros((t, n), bool),
        log_probs=np.zeros((t, n), np.float32),
        values=np.zeros((t + 1, n), np.float32),
        bootstrap=np.zeros((t, n), np.float32),
        life_lost=np.zeros((t, n), bool),
        masks=None if mask_size is None else np.zeros((t + 1, n, mask_size), np.bool_),
        head_values=np.zeros((n_values - 1, t + 1, n), np.float32) if n_values > 1 else None,
        head_bootstrap=np.zeros((n_values - 1, t, n), np.float32) if n_values > 1 else None,
    )
