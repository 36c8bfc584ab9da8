"""What the rewards of some episodes amount to: size, spread, sparsity, and what a discount leaves of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gymnast.audit.play import Played

OUTLIER = 20.0  # times the 99th percentile of |r|
_MOST_VALUES = 8  # different rewards that are listed one by one
_BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of the histogram: rewards from `low` to `high`, which are the same for a single value."""

    low: float
    high: float
    share: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """The rewards that one policy got."""

    policy: str
    episodes: int
    steps: int
    # of a step
    mean: float
    std: float
    min: float
    max: float
    outliers: int  # non-zero rewards beyond 20 × the 99th percentile of their size
    non_zero: float  # share of steps
    gap: float | None  # mean steps from one reward (or the beginning) to the next; None without any reward
    values: tuple[Bin, ...]  # how they are distributed
    # of an episode
    return_mean: float
    return_std: float
    length_mean: float
    length_max: int
    truncated: float  # share that a time limit ended
    cut: int  # episodes that this audit ended
    rewarded: float  # share with at least one reward that is not 0
    success: float | None  # share whose return reaches the threshold; None without one
    parts: dict[str, float]  # Σ|part| / Σ|r|; `env` is its own reward; empty without shaping
    # under the discount
    discounted_std: float  # of the return from a step on, which values have to learn
    seen: float | None  # share of Σ|r| that is left, discounted from an episode's beginning

    @property
    def constant(self) -> bool:
        return self.steps > 0 and self.min == self.max

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def statistics(played: Played, gamma: float, solved_at: float | None) -> Statistics:
    """Of at least one step."""
    rewards, returns, lengths = played.rewards, played.returns, played.lengths
    size = np.abs(rewards)
    non_zero = size[size > 0]
    gaps = np.concatenate([_gaps(episode) for episode in played.episodes])
    to_go = np.concatenate([_returns_to_go(episode, gamma) for episode in played.episodes])
    return Statistics(
        policy=played.policy,
        episodes=len(returns),
        steps=len(rewards),
        mean=float(rewards.mean()),
        std=float(rewards.std()),
        min=float(rewards.min()),
        max=float(rewards.max()),
        outliers=int((non_zero > OUTLIER * np.percentile(non_zero, 99)).sum()) if non_zero.size else 0,
        non_zero=float((size > 0).mean()),
        gap=float(gaps.mean()) if gaps.size else None,
        values=_bins(rewards),
        return_mean=float(returns.mean()),
        return_std=float(returns.std()),
        length_mean=float(lengths.mean()),
        length_max=int(lengths.max()),
        truncated=played.truncated / len(returns),
        cut=played.cut,
        rewarded=float(np.mean([bool(episode.any()) for episode in played.episodes])),
        success=None if solved_at is None else float((returns >= solved_at).mean()),
        parts=_shares(played, float(size.sum())),
        discounted_std=float(to_go.std()),
        seen=_seen(played, gamma),
    )


def _gaps(episode: np.ndarray) -> np.ndarray:
    """Steps from the beginning to the first reward, and from each to the next."""
    at = np.flatnonzero(episode) + 1
    return np.diff(at, prepend=0)


def _returns_to_go(episode: np.ndarray, gamma: float) -> np.ndarray:
    to_go = np.zeros(len(episode))
    rest = 0.0
    for t in range(len(episode) - 1, -1, -1):
        rest = episode[t] + gamma * rest
        to_go[t] = rest
    return to_go


def _seen(played: Played, gamma: float) -> float | None:
    """Σ γ^t |r_t| / Σ |r_t|: signs must not cancel, or a share of nothing would be asked for."""
    whole = sum(float(np.abs(episode).sum()) for episode in played.episodes)
    if whole == 0:
        return None
    left = sum(float((np.abs(e) * gamma ** np.arange(len(e))).sum()) for e in played.episodes)
    return left / whole


def _shares(played: Played, whole: float) -> dict[str, float]:
    if not played.part_sums or whole == 0:
        return {}
    return {"env": played.own_sum / whole} | {name: s / whole for name, s in played.part_sums.items()}


def _bins(rewards: np.ndarray) -> tuple[Bin, ...]:
    values, counts = np.unique(rewards, return_counts=True)
    if len(values) <= _MOST_VALUES:
        return tuple(
            Bin(float(v), float(v), float(c) / len(rewards)) for v, c in zip(values, counts, strict=True)
        )
    counts, edges = np.histogram(rewards, _BINS)
    return tuple(
        Bin(float(edges[i]), float(edges[i + 1]), float(c) / len(rewards)) for i, c in enumerate(counts)
    )
