"""What every exploration bonus has: a stream of rewards with a value head of its own, and coverage.

A bonus is one file with a settings class and a subclass of `Bonus`, and one line in `parts/explore.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from gymnast.config.schedules import scheduled
from gymnast.config.values import Fraction, Section
from gymnast.metrics.spec import MetricSpec
from gymnast.parts.cells import CellsConfig
from gymnast.parts.part import Part, PartContext
from gymnast.parts.reward_scale import RewardScale
from gymnast.parts.visits import Visited, Visits, build_visits
from gymnast.rollout.streams import Stream

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Hyper
    from gymnast.algorithms.batch import Batch
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions

    Weight: TypeAlias = Any  # a type checker cannot read types that are made by a call
else:
    Weight = scheduled(0)

VALUE_HEAD = "intrinsic"

METRICS = (
    MetricSpec("explore/cells", "Different cells seen since the run began.", "cells", 0, low=0),
    MetricSpec("explore/weight", "Weight of the bonus's advantages in the sum.", "", 4, low=0),
    MetricSpec(
        "explore/bonus/mean",
        "Exploration bonus per step, before weight and scaling.",
        "",
        5,
        low=0,
        priority=1,
    ),
    MetricSpec("explore/bonus/std", "Spread of the bonus over a rollout's steps.", "", 5, low=0),
    MetricSpec("explore/value/mean", "Mean value estimate of the bonus's own value head.", "", 3),
    MetricSpec(
        "explore/explained_variance",
        "Share of the variance of the bonus's returns that its value head explains.",
        "",
        3,
        high=1,
        better="higher",
    ),
    MetricSpec(
        "explore/return_std",
        "Running std of the discounted bonus return, which bonuses are divided by.",
        "",
        5,
        low=0,
    ),
)


class NoBonusConfig(Section):
    """No bonus: the environment's reward alone. Cells, if given, are only counted."""

    name: Literal["none"] = "none"
    cells: CellsConfig | None = Field(
        None, description="What counts as the same place, for the metric explore/cells; null: not counted."
    )


class BonusSettings(Section):
    """What every bonus has."""

    name: str
    weight: Weight = Field(
        1.0,
        description="Weight of the bonus's advantages beside those of the environment's reward. Schedulable.",
    )
    gamma: Fraction = Field(0.99, description="Discount of the bonus.")
    episodic: bool = Field(
        False,
        description="Whether the bonus's returns end with the episode; false: they run through its end.",
    )
    cells: CellsConfig | None = Field(
        None, description="What counts as the same place, for the metric explore/cells; null: not counted."
    )


class Coverage(Part):
    """Counts cells and adds no bonus."""

    Settings: ClassVar[type[Section]] = NoBonusConfig
    name = "coverage"
    needs_transitions = True

    def __init__(self, visits: Visits) -> None:
        self.visits = visits

    @classmethod
    def build(cls, context: PartContext) -> Part | None:
        cells = context.config.explore.cells
        return None if cells is None else cls(build_visits(cells, context))

    def rewards(self, rollout: Rollout, steps: Transitions | None, hp: Hyper) -> None:
        assert steps is not None
        self.visits.take(rollout, steps)

    def metrics(self) -> dict[str, float]:
        return {"explore/cells": len(self.visits.counts)}

    def state(self) -> dict[str, Any]:
        return self.visits.state()

    def load_state(self, state: dict[str, Any]) -> None:
        self.visits.load_state(state)


class Bonus(Part):
    """Adds one stream of rewards; a subclass says what each step earns."""

    Settings: ClassVar[type[BonusSettings]]
    needs_transitions = True
    counts_episodes: ClassVar[bool] = False  # whether `bonus` needs the visits within episodes
    normalizes: ClassVar[bool] = False  # whether bonuses are divided by the running std of their return

    def __init__(self, config: BonusSettings, context: PartContext) -> None:
        self.config = config
        self.visits: Visits | None = None
        if config.cells is not None:
            self.visits = build_visits(config.cells, context, episodic=self.counts_episodes)
        self.filter = RewardScale(context.envs.n_envs, clip=None) if self.normalizes else None
        self.weight = 0.0
        self._head = context.policy.layout.value_heads.index(VALUE_HEAD)
        self._metrics: dict[str, float] = {}

    @classmethod
    def build(cls, context: PartContext) -> Part | None:
        return cls(context.config.explore, context)

    @classmethod
    def value_heads(cls, config: Any) -> tuple[str, ...]:
        return (VALUE_HEAD,)

    def schedule(self, env_steps: int, total_steps: int) -> None:
        self.weight = self.config.weight.at(env_steps, total_steps)

    @abstractmethod
    def bonus(self, rollout: Rollout, steps: Transitions, visited: Visited | None) -> np.ndarray:
        """What each step earns [T, N]; `visited` if the config names cells."""

    def rewards(self, rollout: Rollout, steps: Transitions | None, hp: Hyper) -> None:
        assert steps is not None
        assert rollout.head_values is not None
        assert rollout.head_bootstrap is not None
        visited = None if self.visits is None else self.visits.take(rollout, steps)
        rewards = self.bonus(rollout, steps, visited).astype(np.float32, copy=False)
        self._metrics = {
            "explore/weight": self.weight,
            "explore/bonus/mean": float(rewards.mean()),
            "explore/bonus/std": float(rewards.std()),
        }
        if self.visits is not None:
            self._metrics["explore/cells"] = len(self.visits.counts)
        if self.filter is not None:
            rewards = rewards.copy()
            ends = steps.done if self.config.episodic else np.zeros_like(steps.done)
            self._metrics["explore/return_std"] = self.filter.scale(rewards, ends, self.config.gamma)
        rollout.streams += (
            Stream(
                name=VALUE_HEAD,
                rewards=rewards,
                values=rollout.head_values[self._head - 1],
                bootstrap=rollout.head_bootstrap[self._head - 1],
                gamma=self.config.gamma,
                weight=self.weight,
                episodic=self.config.episodic,
            ),
        )

    def targets(self, batch: Batch, hp: Hyper) -> Batch:
        values, returns = batch.values[self._head], batch.returns[self._head]
        self._metrics["explore/value/mean"] = float(values.mean())
        spread = float(returns.var())
        if spread > 1e-12:  # a constant return explains nothing
            self._metrics["explore/explained_variance"] = 1.0 - float((returns - values).var()) / spread
        return batch

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def state(self) -> dict[str, Any]:
        return {
            **({} if self.visits is None else {"visits": self.visits.state()}),
            **({} if self.filter is None else {"filter": self.filter.state()}),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        if self.visits is not None and "visits" in state:
            self.visits.load_state(state["visits"])
        if self.filter is not None and "filter" in state:
            self.filter.load_state(state["filter"])
