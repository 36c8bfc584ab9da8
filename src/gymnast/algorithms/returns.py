"""Advantages and returns of a rollout."""

from __future__ import annotations

import numpy as np


def gae(
    rewards: np.ndarray,
    values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    bootstrap: np.ndarray,
    gamma: float,
    lam: float,
) -> np.ndarray:
    """Generalised advantage estimation (Schulman et al., 2016, eq. 16), with two masks.

    rewards, terminated, truncated, bootstrap: [T, N]; values: [T+1, N], the last row of the
    observations after the rollout. A terminated episode has no future. A truncated one has:
    `bootstrap` holds the value of its true last observation. In neither case may the trace
    continue into the next episode, whose first observation is in the next row.
    """
    continues = (~(terminated | truncated)).astype(values.dtype)
    next_values = values[1:] * continues + bootstrap  # bootstrap is 0 except where truncated
    advantages = rewards + gamma * next_values - values[:-1]  # the deltas; then, from the end, the sums
    decay = (gamma * lam) * continues
    for t in range(len(rewards) - 2, -1, -1):
        advantages[t] += decay[t] * advantages[t + 1]
    return advantages


def vtrace(
    rewards: np.ndarray,
    values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    bootstrap: np.ndarray,
    weights: np.ndarray,
    gamma: float,
    lam: float,
    rho_clip: float = 1.0,
    trace_clip: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Advantages and value targets of data that an older policy collected (Espeholt et al., 2018, eq. 1).

    As `gae`, with `weights` [T, N] = π(a|x) / μ(a|x) of the present policy over the one that acted; values
    are of the present policy. The target is v = V + ρ δ + γ λ c (v' - V'), with ρ and c the weights clipped,
    δ the one-step error, and λ = 1 in the paper. The advantage is δ + γ λ (v' - V'): r + γ v' - V at λ = 1,
    as there, without the weight ρ of the step itself, which the ratio of the surrogate objective has already.
    Where all weights are 1, both are those of `gae`.
    """
    continues = (~(terminated | truncated)).astype(values.dtype)
    next_values = values[1:] * continues + bootstrap
    advantages = rewards + gamma * next_values - values[:-1]  # the one-step errors, to begin with
    excess = np.minimum(weights, rho_clip) * advantages  # v - V
    decay = (gamma * lam) * continues
    traces = decay * np.minimum(weights, trace_clip)
    for t in range(len(rewards) - 2, -1, -1):
        advantages[t] += decay[t] * excess[t + 1]
        excess[t] += traces[t] * excess[t + 1]
    return advantages, excess + values[:-1]


def monte_carlo(
    rewards: np.ndarray,
    done: np.ndarray,
    bootstrap: np.ndarray | None,
    last_values: np.ndarray | None,
    gamma: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Discounted returns to the end of each episode, and where they are known; all [T, N].

    Without values a return is known if its episode ended in the rollout. With them every return is:
    `bootstrap` [T, N] is the value of what a time limit truncated, `last_values` [N] of what comes after.
    """
    continues = (~done).astype(rewards.dtype)
    returns = rewards.copy() if bootstrap is None else rewards + gamma * bootstrap
    if last_values is not None:
        returns[-1] += gamma * continues[-1] * last_values
    decay = gamma * continues
    for t in range(len(rewards) - 2, -1, -1):
        returns[t] += decay[t] * returns[t + 1]
    if last_values is not None:
        return returns, np.ones(done.shape, bool)
    return returns, np.logical_or.accumulate(done[::-1], axis=0)[::-1]


def episode_totals(values: np.ndarray, done: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each step, `values` at the first step of its episode, and whether that lies in the rollout.

    values, done: [T, N]; begun: [N], whether the first row begins an episode.
    """
    first = np.vstack([begun[None], done[:-1]])
    spread = values.copy()
    for t in range(1, len(values)):
        spread[t] = np.where(first[t], values[t], spread[t - 1])
    return spread, np.logical_or.accumulate(first, axis=0)
