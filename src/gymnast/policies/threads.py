"""How many threads linear algebra may use.

Small matrix products lose more to handing work over than a second core wins back: one thread is
faster up to roughly the size below, and bit-for-bit repeatable.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from itertools import pairwise

from gymnast.policies.layout import PolicyLayout

SMALL_MULTIPLICATIONS = 50_000_000  # in the largest product of a minibatch


def limit_threads(layout: PolicyLayout, batch_size: int) -> AbstractContextManager[object]:
    """One BLAS thread for small networks; as many as there are for large ones."""
    from threadpoolctl import threadpool_limits

    largest = max((a * b for trunk in layout.trunks for a, b in pairwise(trunk.widths)), default=0)
    return threadpool_limits(1 if batch_size * largest <= SMALL_MULTIPLICATIONS else None, user_api="blas")
