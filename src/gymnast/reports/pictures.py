"""The curves of a run: as pictures beside its report, and as text in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gymnast.charts.text import text_chart
from gymnast.reports.facts import RunFacts
from gymnast.runs.files import make_folder, write_atomic

if TYPE_CHECKING:
    from gymnast.charts.picture import Series


@dataclass(frozen=True, slots=True)
class Curves:
    """One picture: metrics that belong together. A `*` at the end matches any name."""

    file: str
    title: str
    metrics: tuple[str, ...]
    about: str  # how to read it
    log: bool = False  # values that fall by powers of ten


PICTURES = (
    Curves("score.png", "Score", (), "evaluations (mean ± std of the episodes) and training episodes"),
    Curves("reward.png", "Reward per step", ("env/reward/mean", "env/reward/min", "env/reward/max"),
           "what the environments gave, mean, lowest and highest of each rollout"),
    Curves("kl.png", "KL and clip fraction", ("train/kl", "train/clip_fraction"),
           "how far each update moves the policy"),
    Curves("entropy.png", "Entropy", ("train/entropy",), "how random the policy is"),
    Curves("value.png", "Explained variance", ("train/explained_variance",),
           "how well the critic predicts returns; 1 is perfect, 0 no better than their mean"),
    Curves("value_loss.png", "Value loss", ("train/loss/value",),
           "the critic's error, on a logarithmic scale", True),
    Curves("gradients.png", "Gradient norm", ("opt/grad_norm", "opt/grad_norm/*", "net/grad_norm/*"),
           "before clipping, on a logarithmic scale", True),
    Curves("fps.png", "Env steps per second", ("time/fps",), "of each update, without evaluations"),
)  # fmt: skip
_MOST_CURVES = 8  # in one picture


def draw_pictures(facts: RunFacts, folder: Path, wanted: Sequence[Curves] = PICTURES) -> list[Curves]:
    """Write those of the wanted that have anything to show; which ones."""
    from gymnast.charts.picture import line_chart  # only now: a report may have no pictures
    from gymnast.traces.png import encode_png

    drawn: list[Curves] = []
    for curves in wanted:
        series = list(_series(facts, curves))
        if not series:
            continue
        if not drawn:
            make_folder(folder)
        marks = [] if facts.threshold is None or curves.metrics else [(facts.threshold, "threshold")]
        picture = line_chart(series, title=curves.title, x_label="env steps", marks=marks, log_y=curves.log)
        write_atomic(folder / curves.file, encode_png(picture), durable=False)
        drawn.append(curves)
    return drawn


def text_charts(facts: RunFacts) -> list[str]:
    """The most important curves in characters: score, or else training return."""
    charts = []
    if len(facts.evaluations) > 1:
        steps = [one.env_steps for one in facts.evaluations]
        scores = [one.score for one in facts.evaluations]
        charts.append(text_chart(steps, scores, title="score of evaluations by env steps"))
    if (curve := facts.history.curve("train/return/mean")) is not None and len(curve[0]) > 1:
        charts.append(text_chart(*curve, title="mean return of training episodes by env steps"))
    return charts


def _series(facts: RunFacts, curves: Curves) -> Iterator[Series]:
    from gymnast.charts.picture import Series

    if not curves.metrics:
        yield from _scores(facts)
        return
    for name in _names(facts, curves)[:_MOST_CURVES]:
        if (curve := facts.history.curve(name)) is not None and len(curve[0]) > 1:
            yield Series(_label(name), *curve)


def _scores(facts: RunFacts) -> Iterator[Series]:
    from gymnast.charts.picture import Series

    curve = facts.history.curve("train/return/mean")
    if curve is not None and len(curve[0]) > 1:
        yield Series("training episodes", *curve)
    if facts.evaluations:
        score = np.array([one.score for one in facts.evaluations])
        spread = np.array([one.std or 0.0 for one in facts.evaluations])
        steps = np.array([one.env_steps for one in facts.evaluations])
        yield Series("evaluations", steps, score, score - spread, score + spread)


def _names(facts: RunFacts, curves: Curves) -> list[str]:
    known = facts.history.columns
    found = [name for name in curves.metrics if name in known]
    for start in (name[:-1] for name in curves.metrics if name.endswith("*")):
        found += sorted(name for name in known if name.startswith(start) and name not in found)
    return found


def _label(name: str) -> str:
    return name.partition("/")[2] or name
