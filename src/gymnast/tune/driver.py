"""The autotuner's loop: baseline, then rounds of evidence, proposals and a race, then the confirmation.

Everything is written to tune.json as it is decided, and trials are run folders with ids that follow from the
tune's, so a driver that was killed at any moment is continued by another one, which finds what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import numpy as np

from gymnast.errors import RunFailed
from gymnast.runs.score_auc import curve_of
from gymnast.trials.trial import HUNG_AFTER, Executor, Trial, TrialState
from gymnast.tune.arms import Arms
from gymnast.tune.ask_model import proposals_by_model
from gymnast.tune.evidence import Evidence, Symptom, common_symptoms, look_at
from gymnast.tune.folder import TuneFolder
from gymnast.tune.legs import Legs, Notify, OutOfBudget
from gymnast.tune.present import Changes, point_of
from gymnast.tune.proposals import Chooser, Proposed
from gymnast.tune.race import Race, most_steps
from gymnast.tune.report import write_report
from gymnast.tune.state import Candidate, Round, TuneState

_STALE = 3  # rounds without a gain, after which the search ends
_HOLD = 4  # of five fresh seeds that must be at or above the baseline's median


def drive(folder: TuneFolder, executor: Executor, notify: Notify, arms: Arms | None = None) -> TuneState:
    """Work until the tune is over; needs its lock."""
    state = folder.read()
    if state.status != "working":
        return state
    tune = _Tune(Legs(folder, state, executor, notify), arms or Arms())
    tune.run()
    write_report(folder, state)
    return state


class _Tune:
    def __init__(self, legs: Legs, arms: Arms) -> None:
        self.legs, self.state, self.plan, self.arms = legs, legs.state, legs.state.plan, arms

    def run(self) -> None:
        state = self.state
        try:
            self._train_baseline()
            while not state.search_over:
                self._round()
        except OutOfBudget as reason:
            state.search_over = str(reason)
        self.legs.save()
        if not state.changes:
            self._end("no-better", f"nothing that was tried is better ({state.search_over})")
            return
        self._confirm()

    def _train_baseline(self) -> None:
        state, plan = self.state, self.plan
        if not state.baseline:
            ids = {str(seed): f"{state.id}-b{number}" for number, seed in enumerate(plan.seeds)}
            if plan.from_run is not None:
                ids[str(plan.seeds[0])] = plan.from_run
            state.baseline, state.incumbent = ids, dict(ids)
            self.legs.save()
        own = [(seed, run_id) for seed, run_id in state.baseline.items() if run_id != plan.from_run]
        self.legs.notify(f"baseline: {len(own)} seeds to {plan.budget:,} env steps")
        ended = self.legs.train([self._trial(run_id, {}, int(seed)) for seed, run_id in own])
        self._refuse_faults([ended[run_id] for _, run_id in own])
        if plan.from_run is not None:
            curve = curve_of(self.legs.root_run(plan.from_run))
            state.scores[plan.from_run] = None if curve is None else curve.area()
        self.legs.notify(f"baseline: score AUC {_shown(self._scores(state.baseline))}")

    def _refuse_faults(self, ended: Sequence[TrialState]) -> None:
        """A run that diverged is something to repair. One that an env, a setting or a full disk ended is not:
        where all did, nothing that can be tried will help."""
        from gymnast.training.loop import DIVERGED

        faults = [state for state in ended if state.status in ("failed", "lost")]
        faults = [state for state in faults if not state.message.startswith(DIVERGED)]
        for state in faults:
            self.legs.notify(f"baseline run {state.run_id} failed: {_first_line(state.message)}")
        if faults and len(faults) == len(ended):
            raise RunFailed(
                "the baseline cannot be trained, so there is nothing to tune: "
                f"run {faults[0].run_id}: {_first_line(faults[0].message)}"
            )

    def _round(self) -> None:
        state = self.state
        current = state.rounds[-1] if state.rounds and not state.rounds[-1].done else None
        if current is None:
            if (over := self._why_over()) is not None:
                state.search_over = over
                return
            current = self._new_round()
            state.rounds.append(current)
            self.legs.save()
            if not current.candidates:
                current.done, state.search_over = True, "nothing is left to try"
                return
        for candidate in current.candidates:
            self.legs.notify(
                f"round {current.number}: {candidate.id} {_edit(candidate.edit)}: {candidate.why}"
            )
        accepted = Race(self.legs, current).run()
        current.done = True
        if accepted is not None:
            current.accepted = accepted.id
            state.changes, state.incumbent = dict(accepted.changes), dict(accepted.runs)
            gain = median(delta for delta in accepted.deltas if delta is not None)
            self.legs.notify(f"round {current.number}: accepted {_edit(accepted.edit)} (+{gain:.4g})")
        else:
            self.legs.notify(f"round {current.number}: nothing is better than the incumbent")
        self.legs.save()
        self.arms.take({each.arm: each is accepted for each in current.candidates if each.arm is not None})

    def _why_over(self) -> str | None:
        state, rounds = self.state, self.state.rounds
        if self.plan.until_solved and self._solved(state.incumbent):
            return "the incumbent reaches the threshold"
        stale = [each for each in rounds[-_STALE:] if each.accepted is None]
        if len(stale) == _STALE:
            return f"{_STALE} rounds without a gain"
        if self._room() == 0:
            spent, most = state.env_steps, state.plan.max_env_steps
            return f"{spent:,} of {most:,} env steps are spent, which leaves too few for another round"
        return self.legs.out_of_time()

    def _new_round(self) -> Round:
        state, number = self.state, len(self.state.rounds) + 1
        symptoms = common_symptoms(self._evidence())
        chosen = self._choose(number, symptoms)
        current = Round(number, dict(state.incumbent), [asdict(symptom) for symptom in symptoms], [])
        race = Race(self.legs, current)
        for index, proposed in enumerate(chosen):
            runs = {
                seed: f"{state.id}-r{number}c{index}s{place}" for place, seed in enumerate(state.incumbent)
            }
            name = f"{number}{'abcdefgh'[index]}"
            changes, edit = proposed.changes, proposed.edit
            candidate = Candidate(name, proposed.source, changes, edit, proposed.why, proposed.arm, runs)
            race.branch(candidate, _first_step(symptoms, proposed))
            current.candidates.append(candidate)
        return current

    def _evidence(self) -> list[Evidence]:
        runs = self.state.incumbent.values()
        return [look_at(self.legs.root_run(run), self.plan.solved_at) for run in runs]

    def _choose(self, number: int, symptoms: list[Symptom]) -> list[Proposed]:
        state, plan = self.state, self.plan
        known = [each for every in state.rounds for each in every.candidates]
        chooser = Chooser(
            plan,
            dict(state.changes),
            {point_of(each.changes) for each in known} | {point_of({})},
            np.random.default_rng([plan.seeds[0], number, 0x7E57]),
            self.arms.counts(),
            [(each.changes, 1.0 if each.status == "accepted" else -each.reached) for each in known],
        )
        ask = proposals_by_model(self.legs, symptoms) if plan.ask_model else None
        return chooser.choose(self._room(), symptoms, ask)

    def _room(self) -> int:
        """How many candidates a round may have: as many as can be raced to the end with the env steps that
        are left, so that what is tried depends on those alone and not on which worker is done first."""
        most, left = min(6, max(4, self.plan.workers)), self.legs.steps_left()
        if left is None:
            return most
        seeds, budget = len(self.plan.seeds), self.plan.budget
        return sum(most_steps(count, seeds, budget) <= left for count in range(1, most + 1))

    def _confirm(self) -> None:
        """Fresh seeds from the beginning: what was found must hold where nothing was chosen by it."""
        state, plan = self.state, self.plan
        ids = {str(seed): f"{state.id}-x{number}" for number, seed in enumerate(plan.fresh_seeds)}
        state.confirmation = ids
        self.legs.notify(f"confirmation: {len(ids)} fresh seeds with {_edit(state.changes)}")
        trials = [self._trial(run_id, state.changes, int(seed)) for seed, run_id in ids.items()]
        self.legs.train(trials, within_budget=False)
        known = [score for score in self._scores(state.baseline) if score is not None]
        goal = median(known) if known else None
        scores = self._scores(ids)
        held = sum(score is not None and (goal is None or score >= goal) for score in scores)
        need = min(_HOLD, len(ids))
        text = f"{held} of {len(ids)} fresh seeds are at or above the baseline's median"
        if goal is not None:
            text += f" of {goal:.4g}"
        self._end("confirmed" if held >= need else "not-confirmed", text)

    def _end(self, status: Any, message: str) -> None:
        self.state.status, self.state.message = status, message
        self.legs.save()
        self.legs.notify(message)

    def _trial(self, run_id: str, changes: Changes, seed: int) -> Trial:
        plan = self.plan
        settings = plan.settings(changes, seed)
        return Trial(
            run_id, plan.reference, settings, no_progress_limit=HUNG_AFTER, config_dirs=plan.config_dirs
        )

    def _scores(self, runs: Mapping[str, str]) -> list[float | None]:
        return [self.state.scores.get(run_id) for run_id in runs.values()]

    def _solved(self, runs: Mapping[str, str]) -> bool:
        """Whether every seed of the incumbent reached the threshold."""
        curves = [curve_of(self.legs.root_run(run_id)) for run_id in runs.values()]
        return all(curve is not None and curve.solved for curve in curves)


def _first_step(symptoms: list[Symptom], proposed: Proposed) -> int | None:
    """When the symptom of an edit was first seen; of one without, when any was."""
    name = (proposed.arm or "").partition(" → ")[0]
    steps = [symptom.first_step for symptom in symptoms if not name or symptom.name == name]
    return min(steps, default=None)


def _edit(edit: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in edit.items())


def _shown(scores: list[float | None]) -> str:
    return ", ".join("none" if score is None else f"{score:.4g}" for score in scores)


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "no reason is known")
