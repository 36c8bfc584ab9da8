"""Training returns of each task of a mix."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from gymnast.envs.contract import Envs
from gymnast.envs.mix.mixed import task_rows
from gymnast.rollout.source import Episode

WINDOW = 100  # episodes that training returns are averaged over


class TaskBook:
    """Episodes of each task; a window of their own, since one task's may be far shorter than another's."""

    def __init__(self, names: Sequence[str], shares: Sequence[float]) -> None:
        self.names = tuple(names)
        self.shares = tuple(shares)
        self._episodes = [0] * len(names)
        self._recent: list[deque[Episode]] = [deque(maxlen=WINDOW) for _ in names]

    def take(self, episodes: Sequence[Episode]) -> None:
        for episode in episodes:
            self._episodes[episode.task] += 1
            self._recent[episode.task].append(episode)

    def metrics(self) -> dict[str, float]:
        """Each task's part of a metrics row; returns once an episode of it has ended."""
        row: dict[str, float] = {}
        for name, share, count, recent in zip(
            self.names, self.shares, self._episodes, self._recent, strict=True
        ):
            row |= {f"task/{name}/episodes": count, f"task/{name}/share": share}
            if not recent:
                continue
            row[f"task/{name}/return/mean"] = float(np.mean([e.total for e in recent]))
            row[f"task/{name}/return_plain/mean"] = float(np.mean([e.plain for e in recent]))
            row[f"task/{name}/length/mean"] = float(np.mean([e.length for e in recent]))
            for value in dict.fromkeys(key for e in recent for key in e.values):
                reported = [e.values[value] for e in recent if value in e.values]
                row[f"task/{name}/episode/{value}"] = float(np.mean(reported))
        return row

    def state(self) -> dict[str, Any]:
        """By name, so that a resume may add, drop or reorder tasks."""
        return {
            name: {
                "episodes": count,
                "recent": [[e.total, e.plain, e.length, e.values] for e in recent],
            }
            for name, count, recent in zip(self.names, self._episodes, self._recent, strict=True)
        }

    def load_state(self, state: dict[str, Any]) -> None:
        for index, name in enumerate(self.names):
            if (saved := state.get(name)) is not None:
                self._episodes[index] = int(saved["episodes"])
                self._recent[index].extend(
                    Episode(total, plain, length, values, index)
                    for total, plain, length, values in saved["recent"]
                )


def build_task_book(envs: Envs) -> TaskBook | None:
    """For envs of several tasks; None for those of one."""
    mixed = task_rows(envs)
    if mixed is None:
        return None
    names, task_of = mixed
    return TaskBook(names, (np.bincount(task_of, minlength=len(names)) / len(task_of)).tolist())
