"""One report per update: all that sinks and hooks receive, assembled here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gymnast.algorithms.algorithm import Hyper
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.metrics.sinks.distributions_file import Snapshot
from gymnast.rollout.source import Collected, Episode
from gymnast.training.evaluator import Scored
from gymnast.training.learner import Learned

if TYPE_CHECKING:
    from gymnast.training.session import Session


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one update, by phase."""

    collect: float = 0.0
    learn: float = 0.0
    evaluate: float = 0.0

    @property
    def total(self) -> float:
        return self.collect + self.learn + self.evaluate

    def shares(self) -> dict[str, float]:
        """Fractions of the update's time."""
        total = max(self.total, 1e-9)
        return {
            "collect": self.collect / total,
            "learn": self.learn / total,
            "evaluate": self.evaluate / total,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """One update, frozen: nothing in it changes later."""

    env_steps: int
    updates: int
    row: Mapping[str, Any]  # its metrics, read-only
    episodes: tuple[Episode, ...] = ()  # that ended in this update
    learned: Learned = field(default_factory=lambda: Learned({}))
    scored: Scored = field(default_factory=Scored)  # what evaluation gave, if anything
    timing: Timing = field(default_factory=Timing)
    best_score: float | None = None
    solved: bool = False
    alerts: tuple[Alert, ...] = ()  # active now, by id
    distributions: Snapshot | None = None  # of actions, rewards, values …, if this update was observed


@dataclass(frozen=True, slots=True)
class Update:
    """One update that was learned from and counted, before it is evaluated."""

    hp: Hyper
    steps_before: int
    metrics: Mapping[str, Any]  # of the rollout and of learning
    speed: Mapping[str, float]  # likewise, by the clock
    episodes: tuple[Episode, ...] = ()
    learned: Learned = field(default_factory=lambda: Learned({}))
    timing: Timing = field(default_factory=Timing)


def make_update(
    hp: Hyper, steps_before: int, collected: Collected, learned: Learned, timing: Timing
) -> Update:
    return Update(
        hp,
        steps_before,
        {**collected.metrics, **learned.metrics},
        {
            "time/fps": collected.rollout.rewards.size / max(timing.collect + timing.learn, 1e-9),
            "time/collect_seconds": timing.collect,
            "time/update_seconds": timing.learn,
        },
        tuple(collected.episodes),
        learned,
        timing,
    )


def make_report(s: Session, update: Update, scored: Scored, evaluate_seconds: float = 0.0) -> Report:
    """The report of the update that has just ended."""
    state, result = s.state, scored.result
    row: dict[str, Any] = dict(update.metrics)
    row |= state.counters(s.budget.progress(state)) | s.learner.counters() | state.metrics()
    row |= update.speed
    if result is not None:
        row |= result.score.metrics()
        row |= {"eval/env_steps": result.env_steps, "eval/solved": s.solves(result.score)}
    if state.best_score is not None:
        row["eval/best"] = state.best_score
    return Report(
        env_steps=state.env_steps,
        updates=state.updates,
        episodes=update.episodes,
        learned=update.learned,
        scored=scored,
        timing=replace(update.timing, evaluate=evaluate_seconds),
        best_score=state.best_score,
        solved=state.solved,
        row=MappingProxyType(row),
        distributions=update.learned.distributions,
    )


def with_metrics(report: Report, metrics: Mapping[str, Any]) -> Report:
    """The same report with further metrics: what hooks report after they have seen it."""
    return replace(report, row=MappingProxyType({**report.row, **metrics})) if metrics else report


def with_alerts(report: Report, monitor: Monitor, alerts: tuple[Alert, ...]) -> Report:
    """The same report with what its metrics say about the run's health."""
    row = MappingProxyType({**report.row, **monitor.metrics()})
    return replace(report, row=row, alerts=alerts)


def as_hooks_left_it(seen: Report, scored: Report) -> Report:
    """The scored report with the metrics that hooks added to another one of the same update."""
    return replace(scored, row=MappingProxyType({**seen.row, **scored.row}))
