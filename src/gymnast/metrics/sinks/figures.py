"""The numbers behind the rows of the live table: value, change and history of each metric."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence

from gymnast.metrics.catalogue import COUNTERS, UnknownMetric, order, spec
from gymnast.metrics.sinks.console import REWARDED, Row
from gymnast.metrics.sinks.narrative import SCORED
from gymnast.metrics.sinks.sparkline import History
from gymnast.metrics.spec import MetricSpec
from gymnast.terminal.text import escaped

SPEED = "time/fps"
BEST = "eval/best"
SCORE = "eval/return/mean"
DROPPED = "time/tracker_dropped"
STEADY = frozenset((SPEED, *COUNTERS))  # no change is shown: a counter only grows
ON_TOP = ("time/env_steps", "time/seconds", "time/progress")  # in the line of progress: no rows of their own
ONLY_IN_FILES = 3  # the priority of what no view shows
CHANGE_SECONDS = 2.0  # changes are shown against the value this long ago: against the last row they flicker
FRESH_SECONDS = 5.0  # a new evaluation stands out so long
WAITING_ROWS = 16  # that a draw looks at; of more, every second one, every fourth …
MAX_TASKS = 4  # of a mix that have rows of their own

LABELS = {
    SCORED: "return",
    REWARDED: "shaped return",
    SCORE: "eval return",
    BEST: "best",
    SPEED: "steps / second",
    DROPPED: "tracker drops",
    "train/kl": "KL",
    "train/kl_stops": "KL stops",
    "train/clip_fraction": "clip fraction",
    "train/explained_variance": "explained var.",
    "train/loss/value": "value loss",
    "train/loss/policy": "policy loss",
    "train/loss/entropy": "entropy loss",
    "train/loss/total": "total loss",
    "train/length/mean": "episode length",
    "eval/length/mean": "episode length",
    "train/value/mean": "value estimate",
    "train/action_std": "action std",
    "opt/grad_norm": "gradient norm",
    "opt/lr": "learning rate",
    "opt/critic_lr": "critic's rate",
    "time/collect_seconds": "s collecting",
    "time/update_seconds": "s learning",
    "time/eval_seconds": "s evaluating",
}


class Figure:
    """One metric: its history, its value, and how it changed."""

    __slots__ = (
        *("key", "label", "spec", "position", "is_score"),
        *("history", "value", "changed_at", "_previous", "_marks"),
    )

    def __init__(self, key: str, label: str = "") -> None:
        self.key = key
        self.spec = declared(key)
        self.position = position(key)
        self.label = label or label_of(key)
        self.history = History()
        self.value: float | None = None
        self.is_score = key.startswith("eval/")  # set by evaluations alone
        self.changed_at = 0.0
        self._previous: float | None = None
        self._marks: deque[tuple[float, float]] = deque(maxlen=16)

    def take(self, values: Sequence[float], now: float) -> None:
        """The values of the updates since the last draw."""
        mean = sum(values) / len(values)
        self.history.add(mean)
        if self.key == SPEED:  # that of single updates fluctuates: a moving average is shown
            self.value = mean if self.value is None else 0.8 * self.value + 0.2 * mean
            return
        self.value = values[-1]
        self._marks.append((now, self.value))
        while len(self._marks) > 1 and self._marks[1][0] <= now - CHANGE_SECONDS:
            self._marks.popleft()

    def score(self, value: float) -> None:
        """The value that an evaluation gave."""
        self.history.add(value)
        if value != self.value:
            self.changed_at = time.monotonic()
        if value != self.value or self.key != BEST:  # the best is in every row
            self._previous = self.value
        self.value = value

    @property
    def change(self) -> float:
        """Since the evaluation before, since the row before, or over the last seconds; 0 if unknown."""
        before = self._previous if self.is_score else self._marks[0][1] if self._marks else None
        if self.value is None or before is None:
            return 0.0
        change = self.value - before
        return change if change - change == 0 else 0.0

    def is_fresh(self, now: float) -> bool:
        return self.changed_at > now - FRESH_SECONDS


class Figures:
    """All metrics that can have a row. Rows of metrics wait here, unread, until a draw wants them."""

    def __init__(self, tasks: Sequence[str] = ()) -> None:
        self._waiting: list[Row] = []
        self._stride = 1
        self._skipped = 0
        self._seen: set[str] = set(ON_TOP)
        self.by_key = {key: Figure(key) for key in (SCORED, SCORE, BEST)}
        self.scores = [SCORED, SCORE, BEST]  # these are always shown, and first
        self.by_key[SCORED].label = "train return"
        for name in tasks[:MAX_TASKS]:
            for key, label in (
                (f"task/{name}/return_plain/mean", name),
                (f"eval/task/{name}/return/mean", f"{name[:10]} eval"),
            ):
                self.by_key[key] = Figure(key, escaped(label))
                self.scores.append(key)
        self._seen |= self.by_key.keys()

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.by_key.values())

    def take(self, row: Row) -> None:
        """Called after every update: next to nothing is done here."""
        if SCORE in row:
            self._evaluated(row)
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._waiting.append(row)
        if len(self._waiting) > WAITING_ROWS:
            del self._waiting[:-1:2]
            self._stride *= 2

    def fold(self, latest: Row, now: float) -> bool:
        """Take in the rows since the last draw; False if there are none."""
        rows = self._waiting
        if not rows:
            return False
        if rows[-1] is not latest:
            rows.append(latest)
        self._waiting, self._stride, self._skipped = [], 1, 0
        if new := latest.keys() - self._seen:
            self._add(new)
        for key, figure in self.by_key.items():
            if figure.is_score:
                if figure.value is None and (value := latest.get(key)) is not None:
                    figure.value = value  # the best of a run that was resumed
            elif values := [value for row in rows if (value := row.get(key)) is not None]:
                figure.take(values, now)
        return True

    def ensure(self, key: str) -> Figure:
        """The figure of a metric, also of one that has no value or is otherwise not shown."""
        if key not in self.by_key:
            self._seen.add(key)
            self.by_key[key] = Figure(key)
        return self.by_key[key]

    def _evaluated(self, row: Row) -> None:
        if new := {key for key in row.keys() - self._seen if key.startswith("eval/")}:
            self._add(new)
        for key, figure in self.by_key.items():
            if figure.is_score and (value := row.get(key)) is not None:
                figure.score(value)

    def _add(self, keys: set[str]) -> None:
        self._seen |= keys
        for key in sorted(keys, key=position):
            if declared(key).priority < ONLY_IN_FILES:
                self.by_key[key] = Figure(key)


def declared(key: str) -> MetricSpec:
    try:
        return spec(key)
    except UnknownMetric:  # of a sink's own test, or of a newer version's file
        return MetricSpec(key, "")


def position(key: str) -> tuple[int, int, str]:
    """Sorts keys as the catalogue does; unknown ones come last."""
    try:
        return order(key)
    except UnknownMetric:
        return 10**6, 0, key


def label_of(key: str) -> str:
    """What a row is called, beside the name of its group."""
    if key in LABELS:
        return LABELS[key]
    name = key.partition("/")[2] or key
    return escaped(name.removesuffix("/mean").replace("reward_part/", "reward: ").replace("_", " "))
