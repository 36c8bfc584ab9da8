"""What is going on, in one sentence, from the scores so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

SCORED = "train/return_plain/mean"  # of the env's own rewards, as in evaluations
CAPACITY = 160
FEWEST = 8  # scores before anything is said about a trend
LOOKS = 3  # so often in a row must something new be seen before it is said
CLEAR_NOISE = 2.0  # a trend is clear if it is this many times the scatter around it …
CLEAR_SHARE = 0.05  # … and this share of all the scores' range
RECENT = 5  # early on so many points are a trend by themselves, if it is very clear:
RECENT_NOISE = 4.0
RECENT_SHARE = 0.2
EARLY = 0.03  # of the budget: before that, scores that do not move yet are nothing to report


class Point(NamedTuple):
    """A score, and when it was seen."""

    steps: float
    seconds: float
    score: float


class Scores:
    """The training scores of the whole run in at most `CAPACITY` points; a call that keeps none is cheap."""

    __slots__ = ("_skipped", "_stride", "points")

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._stride = 1
        self._skipped = 0

    def take(self, row: Mapping[str, Any]) -> None:
        self._skipped += 1
        if self._skipped < self._stride:
            return
        score, steps = row.get(SCORED), row.get("time/env_steps")
        if score is None or steps is None or score - score != 0:  # none yet, or not finite
            return
        self._skipped = 0
        self.points.append(Point(steps, row.get("time/seconds") or 0.0, score))
        if len(self.points) >= CAPACITY:
            del self.points[::2]
            self._stride *= 2


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through the latest scores."""

    level: float  # of the last three: where a curve bends, the line's end is off
    mean: float
    per_step: float
    change: float  # over all of it
    noise: float  # scatter around it
    steps: float
    seconds: float

    @property
    def per_second(self) -> float:
        return self.per_step * self.steps / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said; `kind` says whether it is something new or the same with other numbers."""

    kind: str
    text: str


def narrate(
    points: Sequence[Point],
    *,
    threshold: float | None = None,
    best: float | None = None,
    evaluated: float | None = None,
    budget: float | None = None,
    over: bool = False,
) -> Sentence:
    """The scores in a sentence. `best` is the best evaluation, `evaluated` the last one, `budget` in env
    steps. Evaluations are few, so the slope is that of training; where they stand, they say better."""
    if not points:
        text = "no episode has ended"
        return Sentence("waiting", text if over else f"warming up: {text} yet")
    now = points[-1]
    if len(points) < FEWEST:
        return Sentence("starting", f"score {figure(now.score)}; too early for a trend")
    trend = latest_trend(points)
    span = max(point.score for point in points) - min(point.score for point in points)
    clear = abs(trend.change) > max(CLEAR_NOISE * trend.noise, CLEAR_SHARE * span)
    if not clear and len(points) < 3 * FEWEST:  # its line covers most of the run: a bend looks flat
        recent = line_through(points[-RECENT:])
        if abs(recent.change) > max(RECENT_NOISE * recent.noise, RECENT_SHARE * span):
            trend, clear = recent, True
    direction = "flat" if not clear else "rising" if trend.change > 0 else "falling"
    if threshold is not None and best is not None and best >= threshold:
        return _solved(direction, trend)
    if direction == "rising":
        missing = None if threshold is None else threshold - (trend.level if evaluated is None else evaluated)
        return _rising(trend, now, threshold, missing, budget, over)
    if direction == "falling":
        top = max(smoothed(points))
        return Sentence(
            "falling", f"score is falling: {figure(trend.level)} now, {figure(top)} at its highest"
        )
    return _flat(points, trend, span, budget)


def _solved(direction: str, trend: Trend) -> Sentence:
    more = {
        "rising": "; still improving",
        "flat": f"; training holds at {figure(trend.mean)}",
        "falling": f", but the score of training is falling: {figure(trend.level)} now",
    }[direction]
    return Sentence(f"solved {direction}", f"solved threshold reached{more}")


def _rising(
    trend: Trend,
    now: Point,
    threshold: float | None,
    missing: float | None,
    budget: float | None,
    over: bool,
) -> Sentence:
    if over:
        return Sentence("rising", f"still learning when it ended: score {figure(trend.level)}")
    if threshold is None or missing is None:
        gain = f"+{figure(trend.change)} in {count(trend.steps)} steps"
        return Sentence("rising", f"learning steadily: {gain}")
    if missing <= 0:
        return Sentence("above", f"learning steadily; above {figure(threshold)} in training")
    steps = missing / trend.per_step
    if budget is not None and now.steps + steps > budget:
        late = f"{count(now.steps + steps)} of {count(budget)} steps"
        return Sentence("slow", f"learning; at this slope {figure(threshold)} only after {late}")
    if trend.per_second <= 0:
        return Sentence("rising", "learning steadily")
    until = about(missing / trend.per_second)
    return Sentence("rising", f"learning steadily; at this slope {figure(threshold)} in {until}")


def _flat(points: Sequence[Point], trend: Trend, span: float, budget: float | None) -> Sentence:
    first, now = points[0], points[-1]
    elapsed = now.steps - first.steps
    since = now.steps - last_improvement(points, max(CLEAR_SHARE * span, 1.5 * trend.noise))
    if (budget is not None and elapsed < EARLY * budget) or since < elapsed / 5:
        return Sentence("unclear", f"score is around {figure(trend.mean)}; no clear trend")
    began = fmean(point.score for point in points[: max(3, len(points) // 12)])
    if trend.mean - began > max(3 * trend.noise, span / 4):
        return Sentence("plateau", f"plateau at {figure(trend.mean)} for {count(since)} steps")
    return Sentence("stuck", f"no progress for {count(since)} steps; score {figure(trend.mean)}")


def latest_trend(points: Sequence[Point]) -> Trend:
    """The least-squares line through the last third of the steps, `FEWEST` points at least."""
    began = points[-1].steps - (points[-1].steps - points[0].steps) / 3
    first = next(index for index, point in enumerate(points) if point.steps >= began)
    return line_through(points[min(first, len(points) - FEWEST) :])


def line_through(window: Sequence[Point]) -> Trend:
    """The least-squares line through these points."""
    middle, mean = fmean(p.steps for p in window), fmean(p.score for p in window)
    spread = sum((p.steps - middle) ** 2 for p in window)
    slope = sum((p.steps - middle) * (p.score - mean) for p in window) / spread if spread else 0.0
    errors = [p.score - mean - slope * (p.steps - middle) for p in window]
    steps = window[-1].steps - window[0].steps
    return Trend(
        level=fmean(p.score for p in window[-3:]),
        mean=mean,
        per_step=slope,
        change=slope * steps,
        noise=(sum(error * error for error in errors) / (len(window) - 2)) ** 0.5,
        steps=steps,
        seconds=window[-1].seconds - window[0].seconds,
    )


def smoothed(points: Sequence[Point], width: int = 5) -> list[float]:
    """Means of so many neighbours."""
    scores = [point.score for point in points]
    sums = [sum(scores[:width])]
    for old, new in zip(scores, scores[width:], strict=False):
        sums.append(sums[-1] - old + new)
    return [total / min(width, len(scores)) for total in sums]


def last_improvement(points: Sequence[Point], margin: float) -> float:
    """The step from which on the smoothed score was never more than `margin` better."""
    scores = smoothed(points)
    late = len(points) - len(scores)  # a mean is known at the last of its points
    enough = max(scores) - margin
    first = next(index for index, score in enumerate(scores) if score >= enough)
    return points[first + late].steps if first else points[0].steps


class Narrator:
    """Says the same until something else was seen a few times in a row: a sentence must not flicker. That
    the task is solved is no matter of opinion, and said at once."""

    def __init__(self) -> None:
        self._said: Sentence | None = None
        self._kinds: list[str] = []  # that were seen since, instead of it

    def look(self, seen: Sentence) -> str:
        said = self._said
        solved = seen.kind.startswith("solved") and not (said and said.kind.startswith("solved"))
        if said is None or solved or said.kind in (seen.kind, "waiting", "starting"):
            self._said, self._kinds = seen, []
            return seen.text
        self._kinds = [*self._kinds, seen.kind][-LOOKS:]
        if len(self._kinds) == LOOKS and all(a == b for a, b in pairwise(self._kinds)):
            self._said, self._kinds = seen, []
            return seen.text
        return said.text


def figure(score: float) -> str:
    """A score as one says it: 475, -110, 0.85."""
    return f"{score:,.0f}" if 100 <= abs(score) < 1e7 else f"{score:.3g}"


def count(steps: float) -> str:
    """120,345 → 120k: as exact as a sentence needs."""
    for size, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(steps) >= 0.9995 * size:
            return f"{steps / size:.2g}{suffix}" if steps < 9.95 * size else f"{steps / size:.0f}{suffix}"
    return f"{steps:.0f}"


def about(seconds: float) -> str:
    """A time that nobody knows exactly: about 40 s, about 3 min, about 2 h."""
    if seconds < 8:
        return "a few seconds"
    if seconds < 95:
        return f"about {10 * max(1, round(seconds / 10))} s"
    if seconds < 95 * 60:
        return f"about {round(seconds / 60)} min"
    return f"about {round(seconds / 3600):,} h"
