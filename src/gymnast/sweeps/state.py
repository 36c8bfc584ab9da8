"""What is known of a sweep: its trials, their runs, and how far it is. Numbers come from the run folders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from gymnast.errors import GymnastError
from gymnast.sweeps.plan import Plan
from gymnast.sweeps.space import Point

Stage = Literal["search", "race", "test", "done"]
# waiting: to be trained, or to be continued. paused: at a rung, until it is promoted. pruned: given up, with
# the value that it would have if it stayed as good as it was.
RunStatus = Literal["waiting", "running", "paused", "finished", "pruned", "failed"]
SweepStatus = Literal["running", "interrupted", "finished", "failed"]
ENDED: tuple[RunStatus, ...] = ("finished", "pruned", "failed")


@dataclass(slots=True)
class RunRecord:
    """One run of a trial."""

    run_id: str
    seed: int
    stage: Stage
    status: RunStatus = "waiting"
    env_steps: int = 0
    seconds: float = 0.0
    value: float | None = None
    message: str = ""
    attempts: int = 0  # how often its process was lost
    rungs: list[float | None] = field(default_factory=list)  # its value at each rung that it reached


@dataclass(slots=True)
class TrialRecord:
    """One set of settings, with the runs that were trained with it."""

    number: int
    origin: str  # baseline, earlier, grid, random, bayes
    point: Point | None  # where it is in the space; None for a preset that is not a point of it
    settings: dict[str, Any]  # what is changed of the preset, beside what all trials have
    runs: list[RunRecord] = field(default_factory=list)
    note: str = ""

    def of(self, stage: Stage) -> list[RunRecord]:
        return [run for run in self.runs if run.stage == stage]

    @property
    def status(self) -> RunStatus:
        """Of the search."""
        found = [run.status for run in self.of("search")]
        order: tuple[RunStatus, ...] = ("failed", "running", "waiting", "paused", "pruned")
        return next((status for status in order if status in found), "finished")

    @property
    def value(self) -> float | None:
        """The mean over its runs of the search; None while one of them has none."""
        return self.mean("search")

    def mean(self, stage: Stage) -> float | None:
        values = [run.value for run in self.of(stage)]
        known = [value for value in values if value is not None]
        return math.fsum(known) / len(known) if known and len(known) == len(values) else None

    def values(self, stage: Stage) -> list[float]:
        return [run.value for run in self.of(stage) if run.value is not None]


@dataclass(slots=True)
class SweepState:
    """One sweep."""

    id: str
    plan: Plan
    created: str
    status: SweepStatus = "running"
    stage: Stage = "search"
    reason: str = ""  # why it ended or waits, in words
    trials: list[TrialRecord] = field(default_factory=list)
    refused: int = 0  # points whose settings do not fit together
    contenders: list[int] = field(default_factory=list)  # trials that are still in the race
    winner: int | None = None
    seconds: float = 0.0  # that drivers have worked on it
    observed: list[dict[str, Any]] = field(default_factory=list)  # earlier runs whose values count
    own: Point = field(default_factory=dict)  # the preset's own values of what is searched

    @property
    def baseline(self) -> TrialRecord | None:
        return next((trial for trial in self.trials if trial.origin == "baseline"), None)

    def values_of(self, trial: TrialRecord) -> Point:
        """What the searched settings are in a trial."""
        return self.own if trial.origin == "baseline" else trial.settings

    def runs(self) -> Iterator[tuple[TrialRecord, RunRecord]]:
        return ((trial, run) for trial in self.trials for run in trial.runs)

    def ranked(self) -> list[TrialRecord]:
        """Trials with a value, the best first; those that were trained to their end before the others."""
        sign = self.plan.objective.sign
        valued = [(trial, trial.value) for trial in self.trials if trial.status != "failed"]
        ended = [
            (trial.status == "finished", sign * v, -trial.number, trial)
            for trial, v in valued
            if v is not None
        ]
        return [trial for *_, trial in sorted(ended, key=lambda item: item[:3], reverse=True)]

    def best(self) -> TrialRecord | None:
        """The winner, or whatever leads so far."""
        if self.winner is not None:
            return self.trials[self.winner]
        return next(iter(self.ranked()), None)

    def count(self, *statuses: RunStatus) -> int:
        return sum(trial.status in statuses for trial in self.trials)

    def to_json(self) -> dict[str, Any]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return values | {
            "plan": self.plan.to_json(),
            "trials": [asdict(trial) for trial in self.trials],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SweepState:
        """What `to_json` wrote; GymnastError if it is damaged."""
        try:
            known = {item.name: values[item.name] for item in fields(cls)}
            known["plan"] = Plan.from_json(known["plan"])
            known["trials"] = [
                TrialRecord(**{**trial, "runs": [RunRecord(**run) for run in trial["runs"]]})
                for trial in known["trials"]
            ]
            state = cls(**known)
            if [trial.number for trial in state.trials] != list(range(len(state.trials))):
                raise ValueError("its trials are not numbered in order")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise GymnastError(f"the sweep's file is damaged: {error!r}") from error
        return state
