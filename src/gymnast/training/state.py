"""The state of a training: its counters, scores and latest episodes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnast.rollout.source import Collected, Episode
from gymnast.training.tasks import WINDOW, TaskBook


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_score(value: Any) -> bool:
    return value is None or type(value) in (int, float)


# What a checkpoint may hold of each field.
_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("env_steps", "vec_steps", "updates", "episodes", "scores_from"), _is_count),
    **dict.fromkeys(("best_score", "last_score"), _is_score),
    **dict.fromkeys(("solved", "best_solves_all"), lambda value: type(value) is bool),
    "seconds": lambda value: type(value) in (int, float) and 0 <= value < float("inf"),
}


@dataclass(slots=True)
class TrainState:
    """Everything that counts up, and what resuming needs beside weights, optimiser and envs."""

    env_steps: int = 0
    vec_steps: int = 0
    updates: int = 0
    episodes: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    last_score: float | None = None
    solved: bool = False
    best_solves_all: bool = False  # of a mix: whether the best score solved every task
    scores_from: int = 0  # the env step since which scores mean what they mean now (score_meaning.py)
    recent: deque[Episode] = field(default_factory=lambda: deque(maxlen=WINDOW))
    tasks: TaskBook | None = None  # of a mix

    def advance(self, collected: Collected) -> None:
        """Count a rollout that was collected and learned from."""
        rewards = collected.rollout.rewards
        self.env_steps += rewards.size
        self.vec_steps += len(rewards)
        self.updates += 1
        self.episodes += len(collected.episodes)
        self.recent.extend(collected.episodes)
        if self.tasks is not None:
            self.tasks.take(collected.episodes)

    def take_score(self, mean: float, solves: bool, *, is_mix: bool) -> bool:
        """Take in the score of an evaluation; whether none before was better.

        In a mix a higher mean may leave a task unsolved, so what solves them all ranks first, as in `@best`.
        Elsewhere the mean alone decides, also when a resume has raised the threshold.
        """
        solves_all = is_mix and solves
        best = self.best_score is None or (solves_all, mean) >= (self.best_solves_all, self.best_score)
        self.last_score, self.solved = mean, self.solved or solves
        if best:
            self.best_score, self.best_solves_all = mean, solves_all
        return best

    def forget_scores(self) -> None:
        """From here on a score means something else: those before do not compare with it."""
        self.best_score = self.last_score = None
        self.solved = self.best_solves_all = False
        self.scores_from = self.env_steps

    def counters(self, progress: float) -> dict[str, float]:
        """The counters of a metrics row."""
        return {
            "time/env_steps": self.env_steps,
            "time/vec_steps": self.vec_steps,
            "time/updates": self.updates,
            "time/episodes": self.episodes,
            "time/seconds": self.seconds,
            "time/progress": progress,
        }

    def metrics(self) -> dict[str, float]:
        """Training returns over the window, in a mix also per task; nothing before an episode has ended."""
        tasks = {} if self.tasks is None else self.tasks.metrics()
        if not self.recent:
            return tasks
        rows = [(each.total, each.plain, each.length, each.truncated) for each in self.recent]
        totals, plain, lengths, truncated = np.array(rows).T.copy()
        mean_length = float(lengths.mean())
        spread = lengths - mean_length
        metrics = {
            "train/return/mean": float(totals.mean()),
            "train/return/std": float(totals.std()),
            "train/return/min": float(totals.min()),
            "train/return/max": float(totals.max()),
            "train/return_plain/mean": float(plain.mean()),
            "train/length/mean": mean_length,
            "train/length/std": math.sqrt(float(spread.dot(spread)) / len(rows)),
            "env/truncated_share": float(np.add.reduce(truncated)) / len(rows),
        }
        for name in dict.fromkeys(name for episode in self.recent for name in episode.values):
            reported = [episode.values[name] for episode in self.recent if name in episode.values]
            metrics[f"env/episode/{name}"] = float(np.mean(reported))
        return metrics | tasks

    @property
    def train_return(self) -> float | None:
        """Mean of the env's own rewards over a full window, which stop rules look at."""
        if len(self.recent) < WINDOW:
            return None
        return float(np.mean([episode.plain for episode in self.recent]))

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__ if name not in ("recent", "tasks")}
        return values | {
            "recent": [[e.total, e.plain, e.length, e.values, e.task, e.truncated] for e in self.recent],
            "tasks": None if self.tasks is None else self.tasks.state(),
        }

    def load_json(self, values: dict[str, Any]) -> None:
        """Continue from what `to_json` gave; ValueError if that makes no sense."""
        for name, fits in _FITS.items():
            if name in values:
                if not fits(values[name]):
                    raise ValueError(f"{name} is {values[name]!r}")
                setattr(self, name, values[name])
        self.recent.clear()
        self.recent.extend(Episode(*fields) for fields in values["recent"])
        if self.tasks is not None:
            self.tasks.load_state(values["tasks"] or {})
