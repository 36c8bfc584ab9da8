"""Has an executor train the legs that the tune needs next, and keeps count of what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gymnast.errors import GymnastError
from gymnast.runs.score_auc import curve_of
from gymnast.runs.store import RunFolder
from gymnast.trials.trial import Executor, Trial, TrialState
from gymnast.tune.folder import TuneFolder
from gymnast.tune.state import TuneState

_POLL_SECONDS = 1.0

Notify = Callable[[str], None]


class OutOfBudget(Exception):
    """The time that the user allowed is spent."""


class Legs:
    """The executor with a purse."""

    def __init__(self, folder: TuneFolder, state: TuneState, executor: Executor, notify: Notify) -> None:
        self.folder, self.state, self.notify = folder, state, notify
        self._executor = executor
        self._before, self._began = state.seconds, time.monotonic()

    @property
    def root_run(self) -> Callable[[str], RunFolder]:
        return lambda run_id: RunFolder(self.folder.runs_root / run_id)

    def save(self) -> None:
        self.state.seconds = self._before + time.monotonic() - self._began
        self.folder.write(self.state)

    def train(self, trials: Sequence[Trial], *, within_budget: bool = True) -> dict[str, TrialState]:
        """Train all of them to the end of their legs. One whose process died is tried once more.

        Raises OutOfBudget, with everything saved, when the tune has no time left. Env steps are reserved
        before a round begins.
        """
        waiting = {trial.run_id: trial for trial in trials}
        again = set(waiting)
        ended: dict[str, TrialState] = {}
        for trial in trials:
            self._executor.submit(trial)
        while waiting:
            for state in self._executor.poll(_POLL_SECONDS):
                if state.run_id not in waiting:
                    continue
                trial = waiting[state.run_id]
                self._count(trial, state.env_steps)
                if not state.ended:
                    continue
                if state.status == "lost" and state.run_id in again:
                    again.discard(state.run_id)
                    self._executor.submit(trial)
                    continue
                del waiting[state.run_id]
                ended[state.run_id] = state
                self._score(state.run_id)
            if within_budget and waiting and (reason := self.out_of_time()) is not None:
                self._stop(list(waiting))
                self.save()
                raise OutOfBudget(reason)
        self.save()
        return ended

    def steps_left(self) -> int | None:
        """What the search may still spend; the confirmation has its share left. None: there is no limit."""
        plan = self.state.plan
        if plan.max_env_steps is None:
            return None
        return plan.max_env_steps - self.state.env_steps - len(plan.fresh_seeds) * plan.budget

    def out_of_time(self) -> str | None:
        """Why nothing more may be searched; the confirmation has its share left."""
        plan, state = self.state.plan, self.state
        if plan.seconds is None:
            return None
        seconds = self._before + time.monotonic() - self._began
        confirming = seconds / max(1, state.env_steps) * len(plan.fresh_seeds) * plan.budget
        if seconds + confirming > plan.seconds and state.env_steps > plan.budget:
            return f"{seconds:.0f} of {plan.seconds:.0f} seconds are spent, the rest is for the end"
        return f"the {plan.seconds:.0f} seconds are spent" if seconds > plan.seconds else None

    def _count(self, trial: Trial, env_steps: int) -> None:
        inherited = 0 if trial.fork_from is None else int(trial.fork_from.rpartition("/")[2])
        known = self.state.spent.get(trial.run_id, 0)
        self.state.spent[trial.run_id] = max(known, env_steps - inherited, 0)

    def _score(self, run_id: str) -> None:
        try:
            curve = curve_of(self.root_run(run_id))
        except (GymnastError, OSError):
            curve = None
        self.state.scores[run_id] = None if curve is None else curve.area()

    def _stop(self, run_ids: list[str]) -> None:
        for run_id in run_ids:
            self._executor.stop(run_id)
        deadline = time.monotonic() + 10
        left = set(run_ids)
        while left and time.monotonic() < deadline:
            left -= {state.run_id for state in self._executor.poll(0.5) if state.ended}
