"""Whether two plays of an env are the same, and where they differ first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from gymnast.doctor.play_env import Played


def difference_of(one: Played, other: Played) -> str | None:
    """What differs first in two plays, as far as both went."""
    for index, (a, b) in enumerate(zip(one.digests, other.digests, strict=False)):
        if a != b:
            return "first observation" if index == 0 else f"observation in step {index}"
    for index, (x, y) in enumerate(zip(one.rewards, other.rewards, strict=False)):
        if x != y and not (np.isnan(x) and np.isnan(y)):
            return f"reward in step {index + 1}"
    shorter = min(one.steps, other.steps)
    ended = [[sum(p.lengths[: i + 1]) for i in range(len(p.lengths))] for p in (one, other)]
    if [at for at in ended[0] if at <= shorter] != [at for at in ended[1] if at <= shorter]:
        return "end of an episode"
    for a_info, b_info in zip(one.infos, other.infos, strict=False):
        for key in a_info.keys() & b_info.keys():
            if a_info[key] != b_info[key] and not _is_time(key):
                return f"info[{key!r}]"
    return None


def _is_time(key: str) -> bool:
    """Wrappers that count episodes report the seconds they took."""
    return any(word in key.lower() for word in ("time", "episode", "seconds", "fps"))


@contextmanager
def seeded_globals() -> Iterator[None]:
    """Seeds the generators that envs should leave alone, to see whether they use them."""
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(before[0])  # noqa: NPY002
        random.setstate(before[1])
