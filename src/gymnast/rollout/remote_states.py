"""States of shares of the envs, joined into one as a collector of all envs would save it, and cut again.

So a run may be resumed on another number of actors, or on none.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gymnast.envs.states import episodes_in, saved_envs, without_episodes

State = dict[str, Any]
_ROWS = ("obs", "totals", "parts", "lengths", "ages", "masks", "frames")  # what has a row for each env


def deal(n_envs: int, shares: int) -> list[tuple[int, int]]:
    """Rows of each share, as even as can be."""
    return list(pairwise(n_envs * share // shares for share in range(shares + 1)))


def joined(states: list[State]) -> State:
    """One state of the shares' states, in their order."""
    first = states[0]
    whole = {key: _joined([state[key] for state in states]) for key in _ROWS if key in first}
    snapshots = [state["envs"] for state in states]
    if all(snapshot.get("kind") == "single" for snapshot in snapshots):
        envs: State = {"kind": "single", "envs": [env for part in snapshots for env in part["envs"]]}
    else:
        envs = {"kind": "groups", "groups": snapshots}
    return {**whole, "envs": envs}


def _joined(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return {name: _joined([value[name] for value in values]) for name in values[0]}
    return np.concatenate([np.asarray(value) for value in values])


def cut(state: State, rows: list[tuple[int, int]]) -> list[State]:
    """A state for each share. Where the number of envs is another, each begins new episodes."""
    n, snapshot = len(state["totals"]), state["envs"]
    same = rows[-1][1] == n
    snapshots = _cut_snapshot(snapshot, rows, same)
    if not same:
        rows = [(0, 0)] * len(rows)  # nothing of a row's episode continues, so nothing of it is needed
    return [
        {
            **{key: _cut(state[key], start, stop) for key in _ROWS if key in state},
            "envs": snapshot,
        }
        for (start, stop), snapshot in zip(rows, snapshots, strict=True)
    ]


def _cut(value: Any, start: int, stop: int) -> Any:
    if isinstance(value, dict):
        return {name: _cut(part, start, stop) for name, part in value.items()}
    return np.asarray(value)[start:stop]


def _cut_snapshot(snapshot: State, rows: list[tuple[int, int]], same: bool) -> list[State]:
    groups = snapshot.get("groups", ()) if snapshot.get("kind") == "groups" else ()
    single = saved_envs(snapshot)
    if not single and len(groups) == len(rows):
        return list(groups)
    started = episodes_in(snapshot)
    if not same:
        single = [without_episodes(env) for env in single]
    # Seeds of rows that have no state of their own follow from the episodes of all: none is played twice.
    unknown = {"episodes": started}
    single += [unknown] * (rows[-1][1] - len(single))
    return [{"kind": "single", "envs": single[start:stop]} for start, stop in rows]
