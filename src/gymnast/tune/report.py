"""report.md of a tune: what was seen, what was tried, what it cost, and whether it held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

import numpy as np

from gymnast.errors import GymnastError
from gymnast.reports.text import clean
from gymnast.runs.files import write_atomic
from gymnast.runs.score_auc import ScoreCurve, curve_of
from gymnast.runs.store import RunFolder
from gymnast.tune.folder import TuneFolder
from gymnast.tune.state import Candidate, Round, TuneState

_SENTENCES = {
    "confirmed": "The change holds on fresh seeds",
    "not-confirmed": "The change does not hold on fresh seeds, so it is not recommended",
    "no-better": "No change was better",
    "working": "The tune is not over",
    "stopped": "The tune was stopped",
}


def write_report(folder: TuneFolder, state: TuneState) -> None:
    """The report and its picture."""
    drawn = _draw(folder, state)
    write_atomic(folder.report_path, "\n".join(_lines(state, drawn)) + "\n", durable=False)


def _lines(state: TuneState, drawn: bool) -> Iterator[str]:
    plan = state.plan
    yield f"# Tune {state.id} of {_cell(plan.reference)}"
    yield ""
    yield (
        f"{_SENTENCES[state.status]}: {clean(state.message, 300)}."
        if state.message
        else "Nothing is known yet."
    )
    yield ""
    cost = f"{state.env_steps:,} env steps in {len(state.spent)} runs, {state.seconds:.0f} s"
    yield f"- {cost}, {plan.workers} workers"
    yield f"- one run has {plan.budget:,} env steps; races on seeds {_joined(plan.seeds)}, fresh seeds" + (
        f" {_joined(plan.fresh_seeds)}"
    )
    if plan.overrides:
        yield f"- settings of the user: {_settings(plan.overrides)}"
    yield f"- the same in all runs: {_settings(plan.fixed)}"
    if state.search_over:
        yield f"- the search ended: {clean(state.search_over, 200)}"
    yield ""
    if state.changes:
        yield "## What changes"
        yield ""
        yield from (f"- `{key}`: {_cell(value)}" for key, value in state.changes.items())
        yield ""
    yield "## Seeds"
    yield ""
    yield "| | run: score AUC | median |"
    yield "| --- | --- | --- |"
    for title, runs in (
        ("baseline", state.baseline), ("incumbent", state.incumbent), ("fresh seeds", state.confirmation),
    ):  # fmt: skip
        if runs:
            yield f"| {title} | {_scores(state, runs)} | {_middle(state, runs)} |"
    yield ""
    if drawn:
        yield "![best evaluation score so far over env steps](curves.png)"
        yield ""
    for each in state.rounds:
        yield from _round(each)


def _round(each: Round) -> Iterator[str]:
    yield f"## Round {each.number}"
    yield ""
    if each.symptoms:
        yield "Seen in the incumbent:"
        yield ""
        for symptom in each.symptoms:
            where = f"from step {symptom['first_step']:,}"
            yield f"- {symptom['name']} ({symptom['severity']}, {where}): {clean(symptom['seen'], 200)}"
        yield ""
    yield "| | change | by | begins | raced | median difference (by seed) | outcome |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for candidate in each.candidates:
        yield _row(candidate)
    yield ""


def _row(candidate: Candidate) -> str:
    begins = sorted({fork.rpartition("/")[2] for fork in candidate.forks.values()}) or ["0"]
    deltas = [delta for delta in candidate.deltas if delta is not None]
    middle = f"{median(deltas):+.4g}" if deltas else ""
    by_seed = ", ".join("none" if delta is None else f"{delta:+.3g}" for delta in candidate.deltas)
    outcome = f"{candidate.status}{f': {_cell(candidate.note)}' if candidate.note else ''}"
    source = candidate.arm or candidate.source
    return (
        f"| {candidate.id} | {_settings(candidate.edit)} | {_cell(source)} | step {', '.join(begins)} "
        f"| {candidate.reached:.0%} | {middle}{f' ({by_seed})' if by_seed else ''} | {outcome} |"
    )


def _draw(folder: TuneFolder, state: TuneState) -> bool:
    """Best score so far over env steps: baseline, incumbent and fresh seeds; whether there is anything."""
    from gymnast.charts.picture import Series, line_chart
    from gymnast.traces.png import encode_png

    series = []
    for title, runs in (
        ("baseline", state.baseline), ("tuned", state.confirmation or state.incumbent),
    ):  # fmt: skip
        curves = [curve for run_id in runs.values() if (curve := _curve(folder, run_id)) is not None]
        if not curves or (title == "tuned" and not state.changes):
            continue
        at = np.linspace(0, state.plan.budget, 101)
        best = np.array([[_best_at(curve, steps) for steps in at] for curve in curves])
        series.append(Series(title, at, np.median(best, 0), best.min(0), best.max(0)))
    if not series:
        return False
    marks = [(state.plan.solved_at, "threshold")] if state.plan.solved_at is not None else []
    picture = line_chart(
        series, title="best score so far (median, and range over seeds)", x_label="env steps", marks=marks
    )
    write_atomic(folder.curves_path, encode_png(picture), durable=False)
    return True


def _curve(folder: TuneFolder, run_id: str) -> ScoreCurve | None:
    try:
        return curve_of(RunFolder(folder.runs_root / run_id))
    except (GymnastError, OSError):
        return None


def _best_at(curve: ScoreCurve, steps: float) -> float:
    return float(max([curve.start, *(score for at, _, score in curve.evals if at <= steps)]))


def _scores(state: TuneState, runs: Mapping[str, str]) -> str:
    found = ((run_id, state.scores.get(run_id)) for run_id in runs.values())
    return ", ".join(f"{run_id}: {'none' if score is None else f'{score:.4g}'}" for run_id, score in found)


def _middle(state: TuneState, runs: Mapping[str, str]) -> str:
    known = [score for run_id in runs.values() if (score := state.scores.get(run_id)) is not None]
    return f"{median(known):.4g}" if known else "none"


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"`{key}={_cell(value)}`" for key, value in settings.items())


def _cell(value: object) -> str:
    return clean(str(value), 120).replace("|", "¦").replace("`", "'")


def _joined(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
