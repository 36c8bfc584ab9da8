"""Runs side by side: the settings in which they differ, what each reached and when, and groups of seeds."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gymnast.charts.reduce import curve_points
from gymnast.errors import GymnastError, cut, did_you_mean
from gymnast.metrics.catalogue import UnknownMetric, spec
from gymnast.metrics.csv_file import read_header
from gymnast.runs.aggregate import Difference, Group, Sample, build_group, differences
from gymnast.runs.curves import AXES, EMPTY, SCORE, Curve, read_curve
from gymnast.runs.groups import (
    Grouping,
    as_shown,
    as_text,
    differing_within_an_env,
    grouped,
    is_seed,
    with_equal_keys,
)
from gymnast.runs.registry import RunEntry, entry_of
from gymnast.runs.results import AREA, EnvScale, RunResult, common_end, result_of, scale_of, thresholds
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import settings_of

_MOST_POINTS = 200  # of a curve in JSON


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side."""

    runs: tuple[RunEntry, ...]
    settings: dict[str, list[Any]]  # those that differ: dotted key → the value in each run, None if absent
    results: tuple[RunResult, ...]  # in the order of `runs`, as are the curves
    curves: tuple[Curve, ...]
    envs: dict[str, EnvScale]
    axis: str  # one of AXES
    metric: str  # what is compared
    better: str | None  # which way it is better: higher, lower
    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]  # what a reader must know
    area_formula: ClassVar[str] = AREA

    def settings_shown(self) -> dict[str, list[str]]:
        """The settings that differ as texts; empty where a run has none such."""
        return {
            key: ["" if value is None else cut(as_shown(value)) for value in values]
            for key, values in self.settings.items()
        }

    @property
    def letters(self) -> tuple[str, ...]:
        """What stands for each group in charts and tables, or for each run where there are no groups."""
        return tuple(letter_of(place) for place in range(len(self.groups or self.runs)))

    def letter_of_run(self, place: int) -> str:
        """Its own letter, or that of its group."""
        if not self.groups:
            return self.letters[place]
        run = self.runs[place].id
        return next((a for a, group in zip(self.letters, self.groups, strict=True) if run in group.runs), "")

    def to_json(self) -> dict[str, Any]:
        """What `gymnast runs compare --json` prints."""
        return {
            "runs": [entry.to_json() for entry in self.runs],
            "settings": self.settings,
            "metric": self.metric,
            "better": self.better,
            "x": self.axis,
            "envs": {env: asdict(scale) for env, scale in self.envs.items()},
            "results": [asdict(result) for result in self.results],
            "area_formula": AREA,
            "curves": [
                {"id": entry.id, **_points(curve, self.axis)}
                for entry, curve in zip(self.runs, self.curves, strict=True)
            ],
            "groups": [asdict(group) for group in self.groups],
            "differences": [difference.to_json() for difference in self.differences],
            "notes": list(self.notes),
        }


def letter_of(place: int) -> str:
    """A letter; none past the alphabet."""
    return string.ascii_uppercase[place] if place < 26 else ""


def compare(
    runs: Sequence[RunFolder],
    *,
    metric: str | None = None,
    axis: str = "vec_steps",
    threshold: float | None = None,
    group_by: str | None = None,
) -> Comparison:
    """Results of several runs, the settings in which they differ, and statistics of groups of seeds.

    metric: what is compared; by default the score of the evaluations, else the return in training.
    axis: what curves are drawn over, one of AXES.
    threshold: the score that counts as solved; by default what the configs record.
    group_by: settings with commas between them, or `auto` for all that differ but the seed.
    """
    if axis not in AXES:
        raise GymnastError(f"no x axis {axis!r}: {', '.join(AXES)}{did_you_mean(axis, AXES)}")
    if threshold is not None and not math.isfinite(threshold):
        raise GymnastError(f"the threshold is a number, not {threshold}")
    if metric is not None:
        _check_metric(metric, runs)
    notes: list[str] = []
    entries = [entry_of(run) for run in runs]
    settings = with_equal_keys([_settings(run, notes) for run in runs])
    curves = [_curve(run, metric, entry, notes) for run, entry in zip(runs, entries, strict=True)]
    better = _better(metric or SCORE)
    scales = _scales(entries, curves, settings, metric, threshold)
    results = [result_of(e, c, scales[e.env], better) for e, c in zip(entries, curves, strict=True)]
    groupings = [] if group_by is None else grouped(group_by, entries, [one or {} for one in settings])
    groupings, notes_on_groups = _one_of_each(groupings, settings, entries)
    samples = [
        _sample(place, *one, scales) for place, one in enumerate(zip(entries, results, curves, strict=True))
    ]
    ends = {env: common_end([s.curve for s in samples if s.env == env], axis) for env in scales}
    if metric is None and threshold is None:
        notes += _notes_on_thresholds(entries, settings)
    notes += [*_notes_on_envs(scales, metric), *_notes_on_budgets(runs, entries), *notes_on_groups]
    return Comparison(
        runs=tuple(entries),
        settings=_differing(settings),
        results=tuple(results),
        curves=tuple(curves),
        envs=scales,
        axis=axis,
        metric=metric or SCORE,
        better=better,
        groups=tuple(build_group(one, [e.id for e in entries], samples, axis, ends) for one in groupings),
        differences=tuple(differences(groupings, samples, better)),
        notes=tuple(notes),
    )


def _differing(settings: Sequence[dict[str, Any] | None]) -> dict[str, list[Any]]:
    """The keys whose values are not the same in all configs that could be read, with the value of each run
    (None where it lacks)."""
    known = [one for one in settings if one is not None]
    keys = dict.fromkeys(key for one in known for key in one)
    return {
        key: [None if one is None else one.get(key) for one in settings]
        for key in keys
        if any(one.get(key) != known[0].get(key) for one in known)
    }


def _settings(run: RunFolder, notes: list[str]) -> dict[str, Any] | None:
    try:
        return settings_of(run)
    except GymnastError as error:
        notes.append(f"{run.id}: {error}")
        return None


def _curve(run: RunFolder, metric: str | None, entry: RunEntry, notes: list[str]) -> Curve:
    try:
        budget = run.info().get("budget_env_steps")
        early = not isinstance(budget, (int, float)) or entry.env_steps < budget
        curve = read_curve(run, metric, solved=early and entry.state == "solved")
    except GymnastError as error:
        notes.append(f"{run.id}: {error}")
        return EMPTY
    if not curve.metric:
        what = "no metrics" if not curve.last["env_steps"] else f"no values of {metric or 'a score'}"
        notes.append(f"{run.id}: {what}")
    elif metric is None and curve.metric != SCORE:
        notes.append(f"{run.id}: never evaluated, so its return in training is used ({curve.metric})")
    return curve


def _check_metric(metric: str, runs: Sequence[RunFolder]) -> None:
    """Raises if no run has such a column."""
    known: dict[str, None] = {}
    for run in runs:
        try:
            known |= dict.fromkeys(read_header(run.metrics_path))
        except GymnastError:
            continue  # said when its curve is read
    if metric not in known:
        hint = did_you_mean(metric, known) or "; `gymnast metrics` lists them"
        raise GymnastError(f"none of these runs has a metric {metric!r}{hint}")


def _better(metric: str) -> str | None:
    try:
        return spec(metric).better
    except UnknownMetric:  # of a column that a user's own code added
        return None


def _scales(
    entries: Sequence[RunEntry],
    curves: Sequence[Curve],
    settings: Sequence[dict[str, Any] | None],
    metric: str | None,
    threshold: float | None,
) -> dict[str, EnvScale]:
    """The scale of each env. A metric other than the score has a threshold only if the user names one."""
    scales = {}
    for env in dict.fromkeys(entry.env for entry in entries):
        own = [place for place, entry in enumerate(entries) if entry.env == env]
        if metric is not None and metric != SCORE:
            scales[env] = EnvScale(threshold, None, None)
        else:
            configs = [settings[place] or {} for place in own]
            scales[env] = scale_of([curves[place] for place in own], configs, env, threshold)
    return scales


def _sample(
    place: int, entry: RunEntry, result: RunResult, curve: Curve, scales: dict[str, EnvScale]
) -> Sample:
    return Sample(
        place=place,
        env=entry.env,
        score=result.final,
        normalised=scales[entry.env].normalised(result.final),
        threshold=result.threshold,
        steps_to_threshold=result.steps_to_threshold,
        area=result.area,
        curve=curve,
    )


def _notes_on_thresholds(entries: Sequence[RunEntry], settings: Sequence[dict[str, Any] | None]) -> list[str]:
    notes = []
    for env in dict.fromkeys(entry.env for entry in entries):
        known = thresholds([one or {} for e, one in zip(entries, settings, strict=True) if e.env == env])
        if len(known) > 1:
            values = ", ".join(f"{value:,.6g}" for value in sorted(known))
            notes.append(f"{env}: thresholds differ ({values}), the highest is used; --threshold sets one")
    return notes


def _notes_on_budgets(runs: Sequence[RunFolder], entries: Sequence[RunEntry]) -> list[str]:
    budgets: dict[str, set[str]] = {}
    for run, entry in zip(runs, entries, strict=True):
        if entry.score_auc is not None:
            with suppress(GymnastError):  # said when its curve is read
                budgets.setdefault(entry.env, set()).add(str(run.info().get("budget_env_steps")))
    return [
        f"{env}: budgets differ, so score AUCs do not compare; areas do"
        for env, known in budgets.items()
        if len(known) > 1
    ]


def _notes_on_envs(scales: dict[str, EnvScale], metric: str | None) -> list[str]:
    notes = []
    if len(scales) > 1:
        notes.append(
            f"scores compare only within an env; these runs are of {len(scales)}: {', '.join(scales)}"
        )
    if metric is None:
        missing = [env or "an unknown env" for env, scale in scales.items() if scale.threshold is None]
        if missing:
            notes.append(f"{', '.join(missing)}: no threshold is recorded; --threshold sets one")
        notes += [
            f"{env}: untrained it scores {scale.start:,.4g} already, so no area up to {scale.threshold:,.4g}"
            for env, scale in scales.items()
            if scale.threshold is not None and scale.start is not None and scale.threshold <= scale.start
        ]
    return notes


def _one_of_each(
    groupings: Sequence[Grouping], settings: Sequence[dict[str, Any] | None], entries: Sequence[RunEntry]
) -> tuple[list[Grouping], list[str]]:
    """Groups without repeated runs: the same config with the same seed is no further sample."""
    kept, notes = [], []
    for grouping in groupings:
        newest: dict[str, int] = {}
        for place in sorted(grouping.members, key=lambda place: entries[place].created):
            newest[entries[place].id if settings[place] is None else as_text(settings[place])] = place
        members = tuple(place for place in grouping.members if place in newest.values())
        if repeated := [entries[place].id for place in grouping.members if place not in members]:
            notes.append(
                f"{grouping.name}: without {', '.join(repeated)}: the same settings and seed as another run"
            )
        own = [(entries[place], one) for place in members if (one := settings[place]) is not None]
        apart = differing_within_an_env([entry for entry, _ in own], [one for _, one in own])
        if mixed := [key for key in apart if not is_seed(key)]:
            more = f" and {len(mixed) - 3} more" if len(mixed) > 3 else ""
            notes.append(f"{grouping.name}: its runs also differ in {', '.join(mixed[:3])}{more}")
        kept.append(replace(grouping, members=members))
    return kept, notes


def _points(curve: Curve, axis: str) -> dict[str, Any]:
    """A curve in at most _MOST_POINTS points."""
    if not len(curve.y):
        return {"metric": curve.metric, "x": [], "y": []}
    order = np.argsort(curve.x[axis], kind="stable")
    x, y = curve_points(curve.x[axis][order], curve.y[order], _MOST_POINTS // 2)
    return {"metric": curve.metric, "x": x.tolist(), "y": y.tolist()}
