"""The score that is published: of fresh episodes, or of the evaluation that training made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gymnast.runs.checkpoint import Checkpoint
from gymnast.runs.store import now


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """Mean and spread of the returns of whole episodes."""

    mean: float
    std: float | None
    episodes: int | None
    stochastic: bool = False
    fresh: bool = True  # False: from training, which selected the checkpoint by it
    solved: bool | None = None
    seed: int | None = None
    low: float | None = None
    high: float | None = None
    length: float | None = None
    tasks: tuple[tuple[str, float, float], ...] = ()  # of a mix: name, mean, std

    @property
    def text(self) -> str:
        """As the Hub's leaderboards read it."""
        return f"{self.mean:.2f} +/- {self.std or 0.0:.2f}"

    def to_json(self) -> dict[str, Any]:
        """results.json, as other libraries write it."""
        return {
            "mean_reward": self.mean,
            "std_reward": self.std,
            "is_deterministic": not self.stochastic,
            "n_eval_episodes": self.episodes,
            "eval_datetime": now(),
            **({} if self.seed is None else {"seed": self.seed}),
            **({} if self.fresh else {"note": "from training, on the episodes that selected the checkpoint"}),
            **({"tasks": {name: [mean, std] for name, mean, std in self.tasks}} if self.tasks else {}),
        }


def score_of_training(checkpoint: Checkpoint) -> PublishedScore | None:
    """What training scored exactly these weights with; None if it never did."""
    sidecar = checkpoint.sidecar()
    if sidecar.score is None or not math.isfinite(sidecar.score):
        return None
    std, episodes = sidecar.metrics.get("eval/return/std"), sidecar.metrics.get("eval/episodes")
    return PublishedScore(
        mean=float(sidecar.score),
        std=float(std) if isinstance(std, (int, float)) and math.isfinite(std) else None,
        episodes=int(episodes) if isinstance(episodes, (int, float)) and math.isfinite(episodes) else None,
        fresh=False,
        solved=bool(sidecar.metrics["eval/solved"]) if "eval/solved" in sidecar.metrics else None,
    )
