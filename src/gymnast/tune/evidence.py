"""What is seen in a run: its alerts, its metrics in three phases, its curve; and the symptoms in that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import numpy as np

from gymnast.metrics.alerts.alert import SEVERITIES, Severity
from gymnast.metrics.csv_file import read_columns
from gymnast.runs.alerts import read_alerts
from gymnast.runs.score_auc import curve_of
from gymnast.runs.store import RunFolder

_PHASED = (
    "train/kl", "train/clip_fraction", "train/entropy_fraction", "train/explained_variance", "opt/grad_norm",
    "train/epochs_done", "train/used_samples", "time/fps",
)  # fmt: skip
# Which symptom an alert is a sign of.
_SIGNS: dict[str, tuple[str, ...]] = {
    "steps-too-large": ("kl.high", "kl.spike", "clip.high", "epochs.cut", "step.ratio"),
    "steps-too-small": ("kl.low",),
    "entropy-collapses": ("entropy.collapse", "entropy.fast", "action.dominates", "update.frozen"),
    "entropy-stays": ("entropy.stuck",),
    "critic-blind": (
        "ev.low", "ev.negative", "critic.bias", "critic.sign", "terminal.corr", "adv.mean", "adv.flat",
    ),
    "explodes": ("vloss.explode", "grad.explode", "nan", "grad.clipped"),
    "units-die": ("units.dead", "units.dormant", "rank.collapse"),
    "horizon-short": ("horizon.short",),
    "plateau": ("score.plateau", "episodes.truncated"),
    "drops": ("score.collapse",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symptom:
    """Something that edits exist for."""

    name: str
    severity: Severity
    first_step: int  # env steps
    seen: str  # with numbers


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run, looked at."""

    run_id: str
    symptoms: tuple[Symptom, ...]
    critical: tuple[str, ...]  # ids of critical alerts
    phases: Mapping[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    best: float | None = None
    last: float | None = None
    plateau_since: int | None = None  # env steps of the last new best score
    env_share: float | None = None  # of the time, spent stepping envs

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def look_at(run: RunFolder, solved_at: float | None) -> Evidence:
    """The evidence of one run, whatever state it is in."""
    keys = ("time/env_steps", "time/collect_seconds", "time/update_seconds", "train/kl_stops", *_PHASED)
    columns = read_columns(run.metrics_path, keys)
    steps = columns["time/env_steps"]
    phases = {key: _thirds(columns[key]) for key in _PHASED}
    alerts = read_alerts(run)
    found = [
        Symptom(name, alert.severity, alert.first_step, f"{alert.id}: {alert.message}")
        for name, ids in _SIGNS.items()
        for alert in alerts
        if alert.id in ids
    ]
    curve = curve_of(run)
    best = last = plateau = None
    if curve is not None:
        at_best, best = max(((e[0], e[2]) for e in curve.evals), key=lambda each: (each[1], -each[0]))
        last, plateau = curve.evals[-1][2], int(at_best)
        found += _in_curve(curve.evals, curve.taken, best, int(at_best), solved_at, solved=curve.solved)
        if not curve.solved:
            found += _in_metrics(columns, steps, phases)
    collect, learn = (np.nansum(columns[f"time/{name}_seconds"]) for name in ("collect", "update"))
    share = float(collect / (collect + learn)) if collect + learn > 0 else None
    if {"steps-too-large", "entropy-collapses"} & {symptom.name for symptom in found}:
        # A policy that was pushed into a corner hardly moves there: larger steps are not what it needs.
        found = [symptom for symptom in found if symptom.name != "steps-too-small"]
    critical = tuple(alert.id for alert in alerts if alert.severity == "critical")
    return Evidence(run.id, _worst_of_each(found), critical, phases, best, last, plateau, share)


def common_symptoms(evidence: Sequence[Evidence]) -> list[Symptom]:
    """Those of any seed, the worst and then the most frequent first; each with its earliest step."""
    by_name: dict[str, list[Symptom]] = {}
    for each in evidence:
        for symptom in each.symptoms:
            by_name.setdefault(symptom.name, []).append(symptom)
    merged = []
    for name, several in by_name.items():
        worst = max(several, key=lambda s: SEVERITIES.index(s.severity))
        first = min(symptom.first_step for symptom in several)
        merged.append((len(several), Symptom(name, worst.severity, first, worst.seen)))
    merged.sort(key=lambda each: (-SEVERITIES.index(each[1].severity), -each[0], each[1].first_step))
    return [symptom for _, symptom in merged]


def _in_curve(
    evals: Sequence[tuple[float, float, float]], taken: float, best: float, at_best: int,
    solved_at: float | None, *, solved: bool,
) -> list[Symptom]:  # fmt: skip
    if solved:
        return []
    found = []
    start, last = evals[0][2], evals[-1][2]
    below = solved_at is None or best < solved_at
    if below and taken - at_best > 0.4 * taken:
        text = f"no better score than {best:.4g} since step {at_best:,} of {taken:,.0f}"
        found.append(Symptom("plateau", "warning", at_best, text))
    elif below:
        text = f"the threshold is not reached: the best score is {best:.4g}"
        found.append(Symptom("plateau", "info", at_best, text))
    if best - last > 0.2 * max(abs(best), best - start, 1e-9):
        text = f"the score fell from {best:.4g} to {last:.4g}"
        found.append(Symptom("drops", "warning", at_best, text))
    return found


def _in_metrics(
    columns: Mapping[str, np.ndarray], steps: np.ndarray, phases: Mapping[str, tuple[float | None, ...]]
) -> list[Symptom]:
    """What no alert says: it is not unhealthy, only slow."""
    found = []
    clipped = phases["train/clip_fraction"]
    if all(share is not None and share < 0.01 for share in clipped):
        text = f"{max(filter(None, clipped), default=0.0):.2%} of the samples are clipped: steps are small"
        found.append(Symptom("steps-too-small", "info", 0, text))
    stops = columns["train/kl_stops"]
    stops = stops[np.isfinite(stops)]
    if len(stops) and stops[-1] > 0.3 * len(steps):
        text = f"KL stopped {stops[-1]:.0f} of {len(steps)} updates early"
        found.append(Symptom("steps-too-large", "warning", int(steps[0]), text))
    explained = phases["train/explained_variance"]
    if all(value is not None and value <= 0.1 for value in explained[1:]):
        text = f"value estimates explain {explained[2]:.0%} of the returns' variance at the end"
        found.append(Symptom("critic-blind", "warning", int(steps[len(steps) // 3]), text))
    return found


def _thirds(values: np.ndarray) -> tuple[float | None, float | None, float | None]:
    """Medians of the first, middle and last third of a run."""
    parts = [part[np.isfinite(part)] for part in np.array_split(values, 3)]
    first, middle, last = (median(part.tolist()) if len(part) else None for part in parts)
    return first, middle, last


def _worst_of_each(symptoms: Sequence[Symptom]) -> tuple[Symptom, ...]:
    """One of each name: the worst, from the step at which any was first seen."""
    by_name: dict[str, Symptom] = {}
    for symptom in symptoms:
        known = by_name.get(symptom.name)
        if known is None:
            by_name[symptom.name] = symptom
            continue
        worst = max(known, symptom, key=lambda s: SEVERITIES.index(s.severity))
        first = min(known.first_step, symptom.first_step)
        by_name[symptom.name] = Symptom(symptom.name, worst.severity, first, worst.seen)
    return tuple(by_name.values())
