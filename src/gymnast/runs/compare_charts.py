"""A comparison as charts: one for each env, of runs or of groups of seeds, as a picture or as text."""

from __future__ import annotations

import numpy as np

from gymnast.charts.picture import Series, grid, line_chart
from gymnast.charts.text import overlaid_chart
from gymnast.errors import cut
from gymnast.runs.aggregate import Group
from gymnast.runs.compare import Comparison, letter_of
from gymnast.runs.curves import SCORE
from gymnast.terminal.text import escaped

_MOST_CURVES = 8  # in one text chart
_MOST_SHOWN = 14  # in one picture: colours and dashes can tell these apart
AXIS_LABELS = {
    "vec_steps": "vectorised steps", "env_steps": "env steps", "seconds": "seconds", "updates": "updates",
}  # fmt: skip


def picture(found: Comparison) -> np.ndarray:
    """Curves by the chosen x axis; of several envs and groups the performance profile too."""
    charts = []
    for env, scale in found.envs.items():
        series = _series(found, env)
        left_out = len(series) - _MOST_SHOWN
        title = cut(env) + (f" (the first {_MOST_SHOWN} of {len(series)} curves)" if left_out > 0 else "")
        marks = [] if scale.threshold is None else [(scale.threshold, f"threshold {scale.threshold:,.6g}")]
        charts.append(
            line_chart(
                series[:_MOST_SHOWN],
                title=title,
                x_label=AXIS_LABELS[found.axis],
                y_label=_named(found) + _about_bands(found, env),
                marks=marks,
                width=880,
                height=440,
            )
        )
    profiles = [(group.name, group.profile) for group in found.groups if group.profile is not None]
    if profiles:
        shown = [Series(name, p.levels, p.shares, p.low, p.high) for name, p in profiles]
        charts.append(
            line_chart(
                shown[:_MOST_SHOWN],
                title="performance profile",
                x_label="normalised score τ",
                y_label="share of runs above τ",
                width=880,
                height=440,
            )
        )
    return grid(charts, 1 if len(charts) < 3 else 2)


def text(found: Comparison, width: int) -> str:
    """Curves drawn with the letters of the runs or groups."""
    charts = []
    for env in found.envs:
        curves = [(letter, one.x, one.y) for letter, one in _lettered(found, env)]
        if not any(np.isfinite(np.asarray(y)).any() for _, _, y in curves):
            continue
        title = f"{escaped(cut(env))}: {_named(found)} by {AXIS_LABELS[found.axis]}"
        if len(curves) > _MOST_CURVES:
            title += f" (the first {_MOST_CURVES} of {len(curves)})"
        charts.append(overlaid_chart(curves[:_MOST_CURVES], width=min(width, 100), height=14, title=title))
    return "\n\n".join(charts)


def _lettered(found: Comparison, env: str) -> list[tuple[str, Series]]:
    if found.groups:
        return [
            (letter_of(place) or "*", Series(group.name, curve.x, curve.iqm))
            for place, group in enumerate(found.groups)
            for curve in group.curves
            if curve.env == env
        ]
    return [
        (letter_of(place) or "*", Series(entry.id, curve.x[found.axis], curve.y))
        for place, (entry, curve) in enumerate(zip(found.runs, found.curves, strict=True))
        if entry.env == env and len(curve.y)
    ]


def _series(found: Comparison, env: str) -> list[Series]:
    if found.groups:
        return [_series_of_group(group, env) for group in found.groups]
    return [
        Series(_label(found, place), curve.x[found.axis], curve.y)
        for place, curve in enumerate(found.curves)
        if found.runs[place].env == env and len(curve.y)
    ]


def _series_of_group(group: Group, env: str) -> Series:
    """Empty and nameless where the group has no run of the env: a group has one colour in all charts."""
    for curve in group.curves:
        if curve.env == env:
            runs = next((one.runs for one in group.envs if one.env == env), 0)
            return Series(f"{group.name} ({runs} runs)", curve.x, curve.iqm, curve.low, curve.high)
    return Series("", (), ())


def _label(found: Comparison, place: int) -> str:
    """A run's id and the first few settings by which it differs."""
    keys = [key for key in found.settings if not key.startswith("env.")]
    facts = [f"{key.rpartition('.')[2]}={cut(str(found.settings[key][place]), 20)}" for key in keys[:3]]
    return " ".join([found.runs[place].id, *facts])


def _named(found: Comparison) -> str:
    name = "score" if found.metric == SCORE else found.metric
    return f"interquartile mean of the {name}" if found.groups else name


def _about_bands(found: Comparison, env: str) -> str:
    """What the bands around groups are."""
    intervals = [one.interval for group in found.groups for one in group.envs if one.env == env]
    if not any(intervals):
        return ""
    approximate = any(interval is not None and interval.approximate for interval in intervals)
    return ", 95 % interval" + (" (approximate: fewer than 10 seeds)" if approximate else "")
