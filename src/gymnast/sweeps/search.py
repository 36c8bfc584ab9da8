"""The search: which settings the next trial has, and which of the waiting trials continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.sweeps.folder import SweepFolder
from gymnast.sweeps.plan import Plan
from gymnast.sweeps.space import Point
from gymnast.sweeps.state import ENDED, RunRecord, SweepState, TrialRecord
from gymnast.sweeps.suggest.bayes import BayesSuggester, Known
from gymnast.sweeps.suggest.suggester import GridSuggester, RandomSuggester, Suggester

_MOST_REFUSED = 200  # points in a row that cannot be trained


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point that somebody other than the suggester wants to have tried."""

    origin: str
    point: Point | None
    settings: dict[str, Any]
    note: str = ""


@dataclass(slots=True)
class Search:
    """Makes trials, one after the other, and tells the suggester what came of them."""

    folder: SweepFolder
    state: SweepState
    queue: list[Proposal] = field(default_factory=list)  # tried before anything that is suggested
    _suggester: Suggester = field(init=False)
    _exhausted: bool = False

    def __post_init__(self) -> None:
        self._suggester = build_suggester(self.folder, self.state)

    def next_trial(self) -> TrialRecord | None:
        """A new trial with its runs, which are waiting; None if there is none left."""
        plan, number = self.state.plan, len(self.state.trials)
        if number >= plan.trials or self._exhausted or self._target_is_reached():
            return None
        proposal = self.queue.pop(0) if self.queue else self._suggested(number)
        if proposal is None:
            self._exhausted = True
            return None
        chosen_by_others = proposal.origin in ("baseline", "earlier") and proposal.point is not None
        if chosen_by_others and isinstance(self._suggester, BayesSuggester):
            self._suggester.propose(number, proposal.point or {})
        trial = TrialRecord(number, proposal.origin, proposal.point, proposal.settings, note=proposal.note)
        trial.runs = [new_run(self.state, trial, seed, "search") for seed in plan.seeds.of_trial(number)]
        self.state.trials.append(trial)
        return trial

    def tell(self, trial: TrialRecord) -> None:
        """Its search has ended, or it waits at a rung."""
        if trial.point is None:
            return
        value = None if trial.status == "failed" else trial.value
        self._suggester.told(trial.number, None if value is None else self.state.plan.objective.sign * value)

    def promoted(self) -> RunRecord | None:
        """The run that may continue from its rung: among the best 1/eta of all that got there."""
        plan = self.state.plan
        runs = [run for trial, run in self.state.runs() if run.stage == "search"]
        for rung in range(len(plan.rungs) - 1, -1, -1):
            there = _best_first([run for run in runs if len(run.rungs) > rung], rung, plan.objective.sign)
            allowed = there[: int(len(there) / plan.eta)]
            for run in allowed:
                if run.status == "paused" and len(run.rungs) == rung + 1:
                    return run
        return None

    def last_resort(self) -> RunRecord | None:
        """Where nothing was trained to its end: the best of those that got farthest."""
        if any(run.status == "finished" for _, run in self.state.runs() if run.stage == "search"):
            return None
        paused = [run for _, run in self.state.runs() if run.status == "paused"]
        if not paused:
            return None
        farthest = max(len(run.rungs) for run in paused)
        there = [run for run in paused if len(run.rungs) == farthest]
        return _best_first(there, farthest - 1, self.state.plan.objective.sign)[0]

    def _suggested(self, number: int) -> Proposal | None:
        last = ""
        for _ in range(_MOST_REFUSED):
            point = self._suggester.next(number)
            if point is None:
                return None
            problem = refused_because(self.state.plan, point)
            if problem is None:
                return Proposal(self.state.plan.method, point, dict(point))
            last = problem
            self._suggester.refused(number)
            self.state.refused += 1
        raise GymnastError(
            f"{_MOST_REFUSED} points of the space in a row cannot be trained; the last: {last}"
        )

    def _target_is_reached(self) -> bool:
        objective = self.state.plan.objective
        finished = [trial.value for trial in self.state.trials if trial.status == "finished"]
        return any(value is not None and objective.reached(value) for value in finished)


def refused_because(plan: Plan, settings: dict[str, Any]) -> str | None:
    """Why these settings cannot be trained; None if they can."""
    try:
        dirs = [Path(folder) for folder in plan.config_dirs]
        load_config(plan.reference, {**plan.overrides, **settings}, config_dirs=dirs)
    except GymnastError as error:
        return str(error)
    return None


def new_run(state: SweepState, trial: TrialRecord, seed: int, stage: Any) -> RunRecord:
    """Its id tells which sweep, trial and seed it belongs to."""
    return RunRecord(f"{state.id}-{trial.number}-{seed}", seed, stage)


def build_suggester(folder: SweepFolder, state: SweepState) -> Suggester:
    plan = state.plan
    suggested = [trial for trial in state.trials if trial.origin == plan.method]
    if plan.method == "random":
        return RandomSuggester(plan.space, plan.seed)
    if plan.method == "grid":
        return GridSuggester(plan.space, len(suggested) + state.refused)
    suggester = BayesSuggester(plan.space, plan.trials, plan.seed, folder.journal_path, known_trials(state))
    for earlier in state.observed:
        suggester.observe(earlier["point"], plan.objective.sign * earlier["value"])
    return suggester


def known_trials(state: SweepState) -> list[Known]:
    """What trials have shown so far, more is better."""
    sign = state.plan.objective.sign
    found = []
    for trial in state.trials:
        if trial.point is None:
            continue
        value = trial.value if all(run.status in (*ENDED, "paused") for run in trial.of("search")) else None
        signed = None if value is None or trial.status == "failed" else sign * value
        found.append(Known(trial.number, trial.point, signed, trial.status == "failed"))
    return found


def _best_first(runs: Sequence[RunRecord], rung: int, sign: int) -> list[RunRecord]:
    worth: Callable[[RunRecord], float] = lambda run: (  # noqa: E731
        float("-inf") if (value := run.rungs[rung]) is None else sign * value
    )
    return sorted(runs, key=worth, reverse=True)
