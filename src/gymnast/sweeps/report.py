"""report.md of a sweep: what was searched, what won, whether that is so on other seeds, and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gymnast.charts.text import overlaid_chart
from gymnast.metrics.sinks.console import duration
from gymnast.redact import redact
from gymnast.runs.files import make_folder, write_atomic
from gymnast.runs.statistics import Interval
from gymnast.sweeps.folder import SweepFolder
from gymnast.sweeps.objective import OBJECTIVES
from gymnast.sweeps.pictures import front, label, parallel_coordinates, shown_trials, slices, unit_of
from gymnast.sweeps.results import importances, verdict
from gymnast.sweeps.state import SweepState, TrialRecord

_FRONT = 10
_TEXT_SLICES = 4  # of the settings that matter most


def write_report(folder: SweepFolder, state: SweepState) -> Path:
    """Into the sweep's folder, as far as the sweep is."""
    from gymnast.traces.png import encode_png

    drawn = {}
    if state.ranked():
        make_folder(folder.pictures)
        drawn = {"parallel": parallel_coordinates(state), "slices": slices(state), "front": front(state)}
        for name, picture in drawn.items():
            write_atomic(folder.pictures / f"{name}.png", encode_png(picture), durable=False)
    write_atomic(folder.report_path, markdown(state, list(drawn), folder.pictures.name), durable=False)
    return folder.report_path


def markdown(state: SweepState, pictures: Sequence[str], where: str) -> str:
    weights = importances(state)
    parts = [
        _head(state),
        _result(state),
        _pictures(pictures, where),
        _front(state),
        _importances(state, weights),
        _space(state),
        _failures(state),
    ]
    return redact("\n".join(line for part in parts for line in part).rstrip() + "\n")


def _head(state: SweepState) -> Iterator[str]:
    plan = state.plan
    yield f"# Sweep {state.id}: {_cell(plan.name or plan.reference)}"
    yield ""
    if plan.description:
        yield f"{_cell(plan.description)}\n"
    about = OBJECTIVES.get(plan.objective.name, ("", "the last value of the metric"))[1]
    made = f"{len(state.trials)} of {plan.trials} trials"
    yield f"- searched: `{_cell(plan.reference)}`, method {plan.method}, {made}"
    yield f"- objective: {plan.objective.name} ({plan.objective.goal}): {about}"
    if plan.overrides:
        fixed = ", ".join(f"`{key}={_cell(value)}`" for key, value in plan.overrides.items())
        yield f"- the same in all trials: {fixed}"
    runs, steps = sum(1 for _ in state.runs()), sum(run.env_steps for _, run in state.runs())
    yield f"- cost: {runs} runs, {steps:,} env steps, {duration(state.seconds)} with {plan.workers} workers"
    given_up, failed = state.count("pruned", "paused"), state.count("failed")
    yield f"- {state.count('finished')} trials finished, {given_up} given up early, {failed} failed"
    yield f"- state: {state.status}{f' ({_cell(state.reason)})' if state.reason else ''}"
    yield ""


def _result(state: SweepState) -> Iterator[str]:
    yield "## Result"
    yield ""
    found, best = verdict(state), state.best()
    if best is None:
        yield "No trial has a value yet.\n"
        return
    if state.winner is None:
        yield f"The sweep is not over. Trial {best.number} leads with {best.value:.5g}.\n"
        return
    yield f"**{found.text[:1].upper()}{found.text[1:]}.**"
    yield ""
    if found.winner is not None and found.baseline is not None:
        yield "| on test seeds | interquartile mean | 95 % interval | each seed |"
        yield "| --- | --- | --- | --- |"
        rows = {"preset": found.baseline}
        if state.baseline is not best:
            rows = {f"trial {best.number}": found.winner, **rows}
        for name, tested in rows.items():
            each = ", ".join(f"{value:.4g}" for value in tested.values)
            yield f"| {name} | {tested.iqm:.5g} | {_ends(tested.interval)} | {each} |"
        if found.difference is not None:
            yield f"| difference | {found.difference:+.5g} | {_ends(found.interval)} | |"
        yield ""
    yield "Values of the search favour the lucky: each trial had seeds of its own, and the best were taken."
    yield "These raced on the same further seeds. The test seeds were used for nothing else.\n"
    yield "| setting | winner | preset |"
    yield "| --- | --- | --- |"
    values = state.values_of(best)
    for key in state.plan.space.dimensions:
        yield f"| `{key}` | {_cell(values.get(key))} | {_cell(state.own.get(key))} |"
    yield ""
    yield f"`gymnast sweep apply {state.id}` writes it as a config."
    yield ""


def _pictures(names: Sequence[str], where: str) -> Iterator[str]:
    about = {
        "parallel": "Every trial is a line; dark is better, orange is the preset",
        "slices": "Each setting against the objective",
        "front": "The best value so far",
    }
    for name in names:
        yield f"![{about[name]}]({where}/{name}.png)"
        yield ""


def _front(state: SweepState) -> Iterator[str]:
    ranked = state.ranked()
    if not ranked:
        return
    yield "## The best trials"
    yield ""
    keys = list(state.plan.space.dimensions)
    short = [key.removeprefix("algo.") for key in keys]
    yield f"| trial | {state.plan.objective.name} | race | status | {' | '.join(short)} |"
    yield f"| {' | '.join(['---'] * (len(keys) + 4))} |"
    shown = ranked[:_FRONT]
    if state.baseline is not None and state.baseline in ranked[_FRONT:]:
        shown = [*shown, state.baseline]
    for trial in shown:
        values = state.values_of(trial)
        cells = [_cell(values.get(key)) for key in keys]
        name = f"{trial.number}{' (preset)' if trial.origin == 'baseline' else ''}"
        yield f"| {name} | {trial.value:.5g} | {_race(trial)} | {trial.status} | {' | '.join(cells)} |"
    yield ""


def _race(trial: TrialRecord) -> str:
    return ", ".join(f"{value:.4g}" for value in trial.values("race")) or "–"


def _importances(state: SweepState, weights: dict[str, float]) -> Iterator[str]:
    keys = list(weights or state.plan.space.dimensions)
    if weights:
        yield "## What matters"
        yield ""
        yield "How much of the differences between trials each setting explains (PED-ANOVA):"
        yield ""
        for key, weight in weights.items():
            yield f"- `{key}` {weight:.0%}"
        yield ""
    trials = shown_trials(state)
    drawn = 0
    for key in keys:
        dimension = state.plan.space.dimensions[key]
        placed = [(unit_of(dimension, shown.values.get(key)), shown.value) for shown in trials]
        points = [(unit, value) for unit, value in placed if unit is not None]
        if len(points) < 3 or drawn == _TEXT_SLICES:
            continue
        drawn += 1
        yield f"`{key}`, from {label(dimension.value(0.0))} to {label(dimension.value(1.0))}:"
        yield "```"
        x, y = zip(*points, strict=True)
        yield from _dots(x, y)
        yield "```"
    yield ""


def _dots(x: Sequence[float], y: Sequence[float]) -> list[str]:
    """One dot for each trial: as many curves of one point."""
    chart = overlaid_chart([("•", [a], [b]) for a, b in zip(x, y, strict=True)], width=60, height=10)
    return chart.splitlines()[:-1]  # the numbers below are places on the axis, not values


def _space(state: SweepState) -> Iterator[str]:
    yield "## What was searched"
    yield ""
    yield "| setting | from | to | how |"
    yield "| --- | --- | --- | --- |"
    words = {
        "Range": "evenly", "LogRange": "by its logarithm", "OneMinusLog": "by the logarithm of 1 - x",
        "Pow2": "powers of two", "Choice": "one of some values", "Quantised": "multiples",
        "Normal": "normal distribution", "Beta": "beta distribution",
    }  # fmt: skip
    for key, dimension in state.plan.space.dimensions.items():
        how = words[type(dimension).__name__]
        yield f"| `{key}` | {_cell(dimension.value(0.0))} | {_cell(dimension.value(1.0))} | {how} |"
    yield ""


def _failures(state: SweepState) -> Iterator[str]:
    failed = [(trial, run) for trial, run in state.runs() if run.status == "failed"]
    if not failed:
        return
    yield "## Failures"
    yield ""
    for trial, run in failed[:10]:
        first = (run.message.splitlines() or ["no reason is known"])[0]
        yield f"- trial {trial.number}, run {run.run_id}: {_cell(first)}"
    if len(failed) > 10:
        yield f"- and {len(failed) - 10} more"


def _ends(interval: Interval | None) -> str:
    if interval is None:
        return "too few seeds"
    return f"{interval.low:.4g} to {interval.high:.4g}{', approximate' if interval.approximate else ''}"


def _cell(value: Any) -> str:
    text = "–" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "\\|").replace("`", "'").split())[:120]
