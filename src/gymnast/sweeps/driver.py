"""The driver: one process that has trials trained, sees what comes of them, and decides what is next.

Everything it knows is in the sweep's file before it acts on it, and the numbers are in the run folders. So
it may be killed at any moment: whoever continues the sweep orders the runs that were under way again, and
these continue from their last checkpoints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gymnast.errors import GymnastError, RunFailed
from gymnast.runs.store import RunFolder
from gymnast.sweeps.finals import begin_race, race_runs, test_runs
from gymnast.sweeps.folder import SweepFolder
from gymnast.sweeps.objective import measure, value_at
from gymnast.sweeps.pruning import Pruner
from gymnast.sweeps.search import Proposal, Search
from gymnast.sweeps.state import ENDED, RunRecord, SweepState, TrialRecord
from gymnast.trials.trial import Executor, Trial, TrialState

_POLL_SECONDS = 0.5
_LOOK_SECONDS = 0.5  # between two looks at the metrics of a run that is being trained
_SAVE_SECONDS = 0.5
_ATTEMPTS = 2  # of a run whose process is lost
_FAILURES = 8  # in a row, with nothing that succeeded
# What trials leave out, as far as the user did not ask for it: nobody looks at each of them.
_PLAIN = {"checkpoint.rollout_table": False, "checkpoint.keep": 1, "video.record": "never"}

Watch = Callable[[SweepFolder, SweepState], None]


@dataclass(slots=True)
class Driver:
    """Works on one sweep; call with its lock held."""

    folder: SweepFolder
    state: SweepState
    executor: Executor
    watch: Watch = lambda folder, state: None
    stop_asked: Callable[[], bool] = lambda: False
    proposals: list[Proposal] = field(default_factory=list)
    _search: Search = field(init=False)
    _pruner: Pruner = field(init=False)
    _under_way: dict[str, tuple[TrialRecord, RunRecord]] = field(default_factory=dict)
    _given_up: dict[str, str] = field(default_factory=dict)  # run → why
    _looked: float = 0.0
    _saved: float = 0.0
    _changed: bool = True
    _began: float = field(default_factory=time.monotonic)
    _before: float = 0.0

    def __post_init__(self) -> None:
        self._search = Search(self.folder, self.state, self.proposals)
        self._pruner = Pruner(self.state.plan.objective, self.state.plan.budget)
        self._before = self.state.seconds
        for _, run in self.state.runs():
            if run.status == "running":  # of a driver that was killed
                run.status = "waiting"

    def run(self) -> SweepState:
        """Until the sweep is done or somebody asks to stop; then everything is saved."""
        self.state.status, self.state.reason = "running", ""
        try:
            while not self._is_done():
                if self.stop_asked() or self.folder.stop_asked():
                    self.state.status, self.state.reason = "interrupted", "stopped on request"
                    break
                if (why := self.executor.exhausted) is not None:
                    self.state.status, self.state.reason = "interrupted", why
                    break
                self._hand_out()
                self._save()
                if not self._under_way:
                    time.sleep(0.1)  # for a run that another process is saving
                for seen in self.executor.poll(_POLL_SECONDS):
                    self._take(seen)
                self._look()
                self.watch(self.folder, self.state)
            else:
                self.state.status = "finished"
        except BaseException as error:
            self.state.status = "failed" if isinstance(error, GymnastError) else "interrupted"
            self.state.reason = str(error) or type(error).__name__
            raise
        finally:
            self._leave()
        return self.state

    def _is_done(self) -> bool:
        return self.state.stage == "done" and not self._under_way

    def _leave(self) -> None:
        """Have runs saved that are under way; the sweep's file says then that they wait."""
        for run_id in list(self._under_way):
            self.executor.stop(run_id)
        deadline = time.monotonic() + 10.0
        while self._under_way and time.monotonic() < deadline:
            for seen in self.executor.poll(0.2):
                if seen.status in ("finished", "failed", "paused"):
                    self._take(seen)
                elif seen.ended:
                    self._under_way.pop(seen.run_id, None)
        for _, run in self.state.runs():
            if run.status == "running":
                run.status = "waiting"
        self._changed = True
        self._save(durable=True)

    def _hand_out(self) -> None:
        """Keep every place of the executor busy."""
        while len(self._under_way) < self.executor.capacity:
            found = self._next()
            if found is None:
                return
            trial, run = found
            run.status = "running"
            self._under_way[run.run_id] = (trial, run)
            self._changed = True
            self._save(now=True)  # before it is ordered: a run that nobody knows of would be lost
            self.executor.submit(self._order(trial, run))

    def _next(self) -> tuple[TrialRecord, RunRecord] | None:
        waiting = [(trial, run) for trial, run in self.state.runs() if run.status == "waiting"]
        for trial, run in waiting:
            if not self._folder(run).is_locked():  # a process of a killed driver may still be saving it
                return trial, run
        if waiting:
            return None
        if self.state.stage == "search":
            promoted = self._search.promoted()
            if promoted is not None:
                return self._trial_of(promoted), promoted
            new = self._search.next_trial()
            if new is not None:
                return new, new.runs[0]
            if not self._under_way and (last := self._search.last_resort()) is not None:
                return self._trial_of(last), last
        if not self._under_way:
            self._advance()
            return self._next() if any(run.status == "waiting" for _, run in self.state.runs()) else None
        return None

    def _advance(self) -> None:
        """To the next stage, or the next round of the race; what it needs is waiting then."""
        state = self.state
        if state.stage == "search":
            begin_race(state)
        while state.stage == "race" and not race_runs(state):
            pass
        if state.stage == "test":
            test_runs(state)
        self._changed = True

    def _order(self, trial: TrialRecord, run: RunRecord) -> Trial:
        plan = self.state.plan
        rung = len(run.rungs)
        stop_at = plan.rungs[rung] if run.stage == "search" and rung < len(plan.rungs) else None
        settings = {**_PLAIN, **plan.overrides, **trial.settings, "seed": run.seed}
        return Trial(
            run.run_id,
            plan.reference,
            settings,
            stop_at=stop_at,
            init_from=plan.init_from,
            no_progress_limit=plan.patience,
            config_dirs=plan.config_dirs,
        )

    def _take(self, seen: TrialState) -> None:
        """What the executor says of a run."""
        if seen.run_id not in self._under_way:
            return
        trial, run = self._under_way[seen.run_id]
        run.env_steps = max(run.env_steps, seen.env_steps)
        if not seen.ended:
            return
        del self._under_way[seen.run_id]
        self._changed = True
        if seen.status == "lost":
            run.attempts += 1
            run.status = "waiting" if run.attempts < _ATTEMPTS else "failed"
            run.message = seen.message
        elif seen.status == "failed":
            run.status, run.message = "failed", seen.message
        elif seen.status == "stopped":
            run.status, run.message = "pruned", self._given_up.pop(run.run_id, "stopped by somebody else")
        else:
            run.status, run.message = "paused" if seen.status == "paused" else "finished", seen.message
        if run.status in ("finished", "pruned", "paused"):
            self._measure(trial, run)
        if run.stage == "search" and all(other.status in (*ENDED, "paused") for other in trial.of("search")):
            self._search.tell(trial)
        self._refuse_to_go_on()

    def _measure(self, trial: TrialRecord, run: RunRecord) -> None:
        """The numbers of a run that has ended, from its folder."""
        folder, objective = self._folder(run), self.state.plan.objective
        found = measure(folder, objective, ended=run.status == "finished")
        run.env_steps, run.seconds = max(run.env_steps, found.env_steps), found.seconds
        run.value = found.value if found.value is not None and math.isfinite(found.value) else None
        if run.status == "paused":
            rung = self.state.plan.rungs[len(run.rungs)]  # reached in an update that may end after it
            run.rungs.append(value_at(folder, objective, max(rung, run.env_steps)))
        elif run.value is None:
            ended = run.status == "finished"
            run.status, run.message = "failed", f"it has no {objective.name}"
            if ended and found.value is None and trial.origin == "baseline" and run.stage == "search":
                raise RunFailed(
                    f"the preset's own run {run.run_id} was trained to its end and has no {objective.name}, "
                    "so there is nothing to compare trials with"
                )

    def _look(self) -> None:
        """Give up runs of the search that need not be trained to their end."""
        plan, now = self.state.plan, time.monotonic()
        if not plan.prune or plan.seeds.per_trial > 1 or self.state.stage != "search":
            return
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        finished = [trial for trial in self.state.trials if trial.status == "finished"]
        incumbent = self._to_beat(finished)
        others = [self._folder(trial.of("search")[0]) for trial in finished]
        for trial, run in list(self._under_way.values()):
            if trial.origin == "baseline" or run.run_id in self._given_up:
                continue  # the preset is what all are compared with
            with suppress(GymnastError, OSError):  # its folder is not there yet
                reason = self._pruner.reason(self._folder(run), incumbent, others)
                if reason is not None:
                    self._given_up[run.run_id] = reason
                    self.executor.stop(run.run_id)

    def _to_beat(self, finished: list[TrialRecord]) -> float | None:
        """What a run must reach to count: the best value, or that of the last who would be in the race."""
        plan = self.state.plan
        values = sorted((trial.value for trial in finished if trial.value is not None), reverse=True)
        place = plan.seeds.contenders - 1 if plan.seeds.race else 0
        return values[place] if plan.objective.is_area and len(values) > place else None

    def _refuse_to_go_on(self) -> None:
        """Where nothing but failures came, the next would fail as well."""
        ended = [run for _, run in self.state.runs() if run.status in ENDED]
        if len(ended) >= min(_FAILURES, self.state.plan.trials) and all(
            run.status == "failed" for run in ended
        ):
            reasons = ended[-1].message.splitlines() or ["no reason is known"]
            raise RunFailed(f"all {len(ended)} runs failed, so the sweep stops; the last: {reasons[0]}")

    def _folder(self, run: RunRecord) -> RunFolder:
        return RunFolder(self.folder.runs_root / run.run_id)

    def _trial_of(self, run: RunRecord) -> TrialRecord:
        return next(trial for trial in self.state.trials if run in trial.runs)

    def _save(self, *, now: bool = False, durable: bool = False) -> None:
        self.state.seconds = self._before + time.monotonic() - self._began
        if self._changed and (now or durable or time.monotonic() - self._saved >= _SAVE_SECONDS):
            self.folder.write(self.state, durable=durable)
            self._saved, self._changed = time.monotonic(), False
