"""How the copies of a mix are shared out among its tasks."""

from __future__ import annotations

from collections.abc import Sequence


def shares(weights: Sequence[float], n_envs: int) -> list[int]:
    """Copies of each task: one each, then each further one to the task furthest below its share.

    A task's share is its part of all weights times `n_envs`; of tasks that lack the same the first is
    served. So nobody is more than one copy away from the share, unless a share is below one copy.
    """
    wanted = [weight / sum(weights) * n_envs for weight in weights]
    counts = [1] * len(weights)
    for _ in range(n_envs - len(weights)):
        lacks = [share - count for share, count in zip(wanted, counts, strict=True)]
        # Rounding must not decide between equals.
        counts[next(i for i, lack in enumerate(lacks) if lack > max(lacks) - 1e-9)] += 1
    return counts
