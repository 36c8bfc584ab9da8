"""The race of one round: candidates against the unchanged continuation of the incumbent, on paired seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gymnast.errors import GymnastError
from gymnast.runs.alerts import read_alerts
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.score_auc import area, curve_of
from gymnast.sweeps.objective import upper_bound
from gymnast.trials.trial import HUNG_AFTER, Trial
from gymnast.tune.edits import may_fork
from gymnast.tune.legs import Legs
from gymnast.tune.state import Candidate, Round

RUNGS = (0.25, 0.5, 1.0)  # of the steps that are left
_WORST = 0.05  # how much less than the incumbent's worst seed the worst seed may have
_FASTER = 0.75  # of the incumbent's seconds, where scores are equal


def most_steps(candidates: int, seeds: int, budget: int) -> int:
    """The env steps that a race of so many costs at most: each rung keeps half of those that reached it."""
    total, racing, before = 0.0, candidates, 0.0
    for rung in RUNGS:
        total += racing * seeds * budget * (rung - before)
        racing, before = max(1, racing // 2), rung
    return math.ceil(total)


@dataclass(frozen=True, slots=True)
class Race:
    """One round's race; everything that it decides follows from run folders, so it can be run again."""

    legs: Legs
    round: Round

    def run(self) -> Candidate | None:
        """The candidate that is accepted, if any."""
        racing = [each for each in self.round.candidates if each.status in ("racing", "beaten", "accepted")]
        for rung in RUNGS:
            if not racing:
                break
            self._train(racing, rung)
            racing = self._without_failures(racing)
            if rung < 1.0:
                racing = self._halved(racing, rung)
            self.legs.save()
        return self._accept(racing)

    def branch(self, candidate: Candidate, first_symptom: int | None) -> None:
        """Decide where it begins: at the last checkpoint before the symptom on every seed, or at 0."""
        if first_symptom is None or not all(may_fork(key) for key in candidate.edit):
            return
        forks: dict[str, str] = {}
        for seed, run_id in self.round.incumbent.items():
            before = [
                checkpoint.env_steps
                for checkpoint in list_checkpoints(self.legs.root_run(run_id))
                if 0 < checkpoint.env_steps < first_symptom
            ]
            if not before:
                return
            forks[seed] = f"{run_id}/{before[-1]}"
        candidate.forks = forks

    def _train(self, racing: Sequence[Candidate], rung: float) -> None:
        plan = self.legs.state.plan
        trials = []
        for candidate in racing:
            for seed, run_id in candidate.runs.items():
                fork = candidate.forks.get(seed)
                begun = 0 if fork is None else int(fork.rpartition("/")[2])
                stop_at = None if rung == 1.0 else begun + round((plan.budget - begun) * rung)
                settings = plan.settings(candidate.changes, int(seed))
                trials.append(
                    Trial(
                        run_id,
                        plan.reference,
                        settings,
                        stop_at=stop_at,
                        fork_from=fork,
                        no_progress_limit=HUNG_AFTER,
                        config_dirs=plan.config_dirs,
                    )
                )
        states = self.legs.train(trials)
        for candidate in racing:
            candidate.reached = rung
            bad = [states[run_id] for run_id in candidate.runs.values() if states[run_id].status in _BROKEN]
            if 2 * len(bad) > len(candidate.runs):
                candidate.status, candidate.note = "failed", bad[0].message.splitlines()[0][:200]

    def _without_failures(self, racing: Sequence[Candidate]) -> list[Candidate]:
        return [candidate for candidate in racing if candidate.status != "failed"]

    def _halved(self, racing: Sequence[Candidate], rung: float) -> list[Candidate]:
        """Drop what can no longer win, then the worse half; at half-way also what is behind the incumbent."""
        kept = []
        goal = median(self._value(run_id, None) for run_id in self.round.incumbent.values())
        for candidate in racing:
            candidate.deltas = [_plain(delta) for delta in self._deltas(candidate, rung)]
            most = None if self._is_repair() else self._most(candidate)
            if most is not None and most <= goal:
                candidate.status = "out"
                candidate.note = f"cannot win any more: at most {most:.4g}, the incumbent has {goal:.4g}"
            else:
                kept.append(candidate)
        middle = {candidate.id: _median(candidate.deltas) for candidate in kept}
        gained = {candidate.id: self._solves_more(candidate.runs) for candidate in kept}
        kept.sort(key=lambda candidate: (-gained[candidate.id], -middle[candidate.id]))
        half = kept[: max(1, len(kept) // 2)]
        chosen = [each for each in half if rung < 0.5 or middle[each.id] >= 0 or gained[each.id] > 0]
        for candidate in kept:
            if candidate not in chosen:
                candidate.status = "out"
                candidate.note = (
                    f"median difference {middle[candidate.id]:+.4g} after {rung:.0%} of the steps"
                )
        return chosen

    def _accept(self, finalists: Sequence[Candidate]) -> Candidate | None:
        """By the median over all seeds, if no seed is much worse and no new critical alert is raised."""
        good = []
        for candidate in finalists:
            deltas = self._deltas(candidate, 1.0)
            candidate.deltas = [_plain(delta) for delta in deltas]
            candidate.note = self._objection(candidate, deltas) or ""
            candidate.status = "beaten"
            if not candidate.note:
                good.append(candidate)
        if not good:
            return None
        best = max(good, key=lambda each: (self._solves_more(each.runs), _median(each.deltas)))
        best.status = "accepted"
        return best

    def _objection(self, candidate: Candidate, deltas: Sequence[float]) -> str | None:
        if self._solves_more(candidate.runs) > 0:
            return None
        middle = median(deltas)
        if middle < 0 or (middle == 0 and not self._is_faster(candidate)):
            return f"median difference {middle:+.4g}"
        # Worst with worst and not seed by seed: after other settings a seed's luck is another one.
        worst = min(self._value(run_id, None) for run_id in candidate.runs.values())
        known = min(self._value(run_id, None) for run_id in self.round.incumbent.values())
        if math.isfinite(known) and worst < known - _WORST * abs(known):
            return f"its worst seed has {worst:.4g}, the incumbent's {known:.4g}"
        for seed, run_id in self.round.incumbent.items():
            new = self._critical(candidate.runs[seed]) - self._critical(run_id)
            if new:
                return f"new critical alert {min(new)} with seed {seed}"
        return None

    def _is_repair(self) -> bool:
        """Whether the threshold counts and the incumbent misses it on some seed: then what is gained there
        counts more than how fast the others are."""
        runs = self.round.incumbent
        return self.legs.state.plan.until_solved and self._solved(runs) < len(runs)

    def _solves_more(self, runs: Mapping[str, str]) -> int:
        """In a repair, on how many more seeds than the incumbent these runs reach the threshold."""
        return self._solved(runs) - self._solved(self.round.incumbent) if self._is_repair() else 0

    def _solved(self, runs: Mapping[str, str]) -> int:
        curves = [curve_of(self.legs.root_run(run_id)) for run_id in runs.values()]
        return sum(curve is not None and curve.solved for curve in curves)

    def _deltas(self, candidate: Candidate, rung: float) -> list[float]:
        """For each seed, how much more the candidate has than the incumbent had after as many steps."""
        plan, found = self.legs.state.plan, []
        for seed, run_id in self.round.incumbent.items():
            begun = int(candidate.forks[seed].rpartition("/")[2]) if seed in candidate.forks else 0
            at = None if rung == 1.0 else begun + round((plan.budget - begun) * rung)
            mine, other = self._value(candidate.runs[seed], at), self._value(run_id, at)
            delta = mine - other if math.isfinite(mine) else -math.inf
            same = abs(delta) < 1e-9 * max(1.0, abs(other))  # the same scores, added up in other parts
            found.append(0.0 if same else delta)
        return found

    def _value(self, run_id: str, at: int | None) -> float:
        """The score AUC, or what it was at a step; minus infinity for a run that was never evaluated."""
        try:
            curve = curve_of(self.legs.root_run(run_id))
        except (GymnastError, OSError):
            curve = None
        if curve is None:
            return -math.inf
        if at is None:
            return curve.area()
        evals = [(steps, score) for steps, _, score in curve.evals if steps <= at]
        return area(evals, curve.start, at, at, solved=True)

    def _most(self, candidate: Candidate) -> float | None:
        """The highest median that it can still reach."""
        plan, bounds = self.legs.state.plan, []
        for run_id in candidate.runs.values():
            curve = curve_of(self.legs.root_run(run_id))
            if curve is None:
                return None
            evals = [(steps, score) for steps, _, score in curve.evals]
            bound = upper_bound(evals, curve.start, plan.budget, plan.ceiling)
            if bound is None:
                return None
            bounds.append(curve.area() if curve.solved else bound)
        return median(bounds)

    def _is_faster(self, candidate: Candidate) -> bool:
        """Whether it learned as much in clearly less time, on every seed; where nothing was learned, or a
        part was not trained again, seconds say nothing."""
        if candidate.forks:
            return False
        for seed, run_id in self.round.incumbent.items():
            other = curve_of(self.legs.root_run(run_id))
            mine = curve_of(self.legs.root_run(candidate.runs[seed]))
            if mine is None or other is None or other.area() <= other.start:
                return False
            if mine.seconds >= _FASTER * other.seconds:
                return False
        return True

    def _critical(self, run_id: str) -> set[str]:
        alerts = read_alerts(self.legs.root_run(run_id))
        return {alert.id for alert in alerts if alert.severity == "critical"}


_BROKEN = ("failed", "lost")


def _plain(delta: float) -> float | None:
    return delta if math.isfinite(delta) else None


def _median(deltas: Sequence[float | None]) -> float:
    return median(-math.inf if delta is None else delta for delta in deltas)
