"""What a rule sees: each metric's last values, its peaks since the start, and how the score develops."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Mapping

from gymnast.metrics.alerts.facts import RunFacts, nice
from gymnast.metrics.alerts.score import ScoreHistory

WINDOW = 20  # values kept per metric
HUGE = 1e100  # as good as infinite: a few of them overflow
_WHOLE = ("algo.n_epochs", "algo.n_steps")  # settings that are counts
FIRST = 5  # the first values kept, which later ones are compared with


class Window:
    """The last and first values of one metric, and the extremes since the start."""

    __slots__ = ("first", "high", "high_step", "low", "low_step", "seen", "step", "values")

    def __init__(self) -> None:
        self.values: deque[float] = deque(maxlen=WINDOW)
        self.first: list[float] = []
        self.seen = 0
        self.high, self.low = -math.inf, math.inf
        self.high_step = self.low_step = 0
        self.step = 0  # of the newest value

    def add(self, value: float, step: int) -> None:
        self.values.append(value)
        self.step = step
        self.seen += 1
        if self.seen <= FIRST:
            self.first.append(value)
        if value > self.high:
            self.high, self.high_step = value, step
        if value < self.low:
            self.low, self.low_step = value, step


class Look:
    """One look at a run, after an update. Methods give None where too little is known, so that a rule reads
    as a condition: `(kl := look.mean("train/kl", 5)) is not None and kl > 0.05`."""

    def __init__(self, facts: RunFacts) -> None:
        self.facts = facts
        self.windows: dict[str, Window] = {}
        self.score = ScoreHistory()
        self.row: Mapping[str, float] = {}  # of the last update
        self.step = 0
        self.updates = 0  # rows seen
        self.solved = False  # by the last evaluation; before the first one, by the score of training
        self.evaluated = False
        self.broken: dict[str, str] = {}  # since the last check: "NaN" or "infinite", which no window holds
        self.per_check = 1  # updates from one check to the next
        self._matching: dict[str, tuple[int, tuple[str, ...]]] = {}  # by pattern: metrics seen, those it fits

    @property
    def progress(self) -> float | None:
        """Fraction of the budget that is spent."""
        return self.row.get("time/progress")

    @property
    def late(self) -> bool:
        """After 30 % of the budget; without one, after 100 updates."""
        progress = self.progress
        return self.updates > 100 if progress is None else progress > 0.3

    @property
    def schedule_ended(self) -> bool:
        """Whether the learning rate has fallen below a tenth of its start: little moves any more."""
        window = self.windows.get("opt/lr")
        return window is not None and window.seen > 0 and window.values[-1] < 0.1 * window.first[0]

    def last(self, key: str) -> float | None:
        """The newest value."""
        window = self.windows.get(key)
        return window.values[-1] if window is not None and window.values else None

    def step_of(self, key: str) -> int:
        """The env step of the newest value: some metrics are rare."""
        window = self.windows.get(key)
        return 0 if window is None else window.step

    def mean(self, key: str, n: int) -> float | None:
        """Mean of the last n values; None before there are n."""
        values = self.values(key, n)
        return None if values is None else sum(values) / n

    def values(self, key: str, n: int) -> list[float] | None:
        """The last n values; None before there are n."""
        window = self.windows.get(key)
        if window is None or len(window.values) < n:
            return None
        return list(window.values)[-n:]

    def recent(self, key: str) -> list[float]:
        """The values since the last check, which a spike may hide among; empty if there are none."""
        window = self.windows.get(key)
        return [] if window is None else list(window.values)[-self.per_check :]

    def median(self, key: str) -> float | None:
        """Median of the values kept before those of the last check; None before there are 10."""
        window = self.windows.get(key)
        if window is None or len(window.values) < 10 + min(self.per_check, WINDOW - 10):
            return None
        kept = list(window.values)
        return statistics.median(kept[: max(10, len(kept) - self.per_check)])

    def first(self, key: str, n: int = FIRST) -> float | None:
        """Mean of the first n values."""
        window = self.windows.get(key)
        return None if window is None or len(window.first) < n else sum(window.first[:n]) / n

    def peak(self, key: str) -> tuple[float, int] | None:
        """The highest value since the start, and its env step."""
        window = self.windows.get(key)
        return None if window is None or not window.seen else (window.high, window.high_step)

    def lowest(self, key: str) -> tuple[float, int] | None:
        """The lowest value since the start, and its env step."""
        window = self.windows.get(key)
        return None if window is None or not window.seen else (window.low, window.low_step)

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The metrics seen so far that a key ending in `*` stands for."""
        known = self._matching.get(pattern)
        if known is None or known[0] != len(self.windows):  # a metric came for the first time
            start = pattern.removesuffix("*")
            keys = (key for key in self.windows if key.startswith(start) and "/" not in key[len(start) :])
            known = self._matching[pattern] = (len(self.windows), tuple(sorted(keys)))
        return known[1]

    def setting(self, key: str) -> float | None:
        """A number among the settings of `algo`: what the config says, or where that is a schedule or not
        known, what the run started with."""
        number = self.facts.number(key)
        window = self.windows.get(f"opt/{key.removeprefix('algo.')}")
        return window.first[0] if number is None and window is not None and window.first else number

    def lower(self, key: str, factor: float = 0.3, at_most: float | None = None) -> str:
        """Advice to multiply a setting of `algo` by less than 1: 'algo.lr is 0.3: try 0.1'."""
        return self._moved(key, factor, at_most)

    def raise_(
        self, key: str, factor: float = 3.0, at_most: float | None = None, at_least: float = 0.0
    ) -> str:
        """Advice to multiply a setting of `algo` by more than 1."""
        return self._moved(key, factor, at_most, at_least)

    def _moved(self, key: str, factor: float, at_most: float | None, at_least: float = 0.0) -> str:
        """From the value that the run started with: that is what the config says."""
        now = self.setting(key)
        if not now:
            name = self.facts.name(key)
            return "" if name is None else f"{'lower' if factor < 1 else 'raise'} {name}"
        wanted = max(now * factor, at_least)
        wanted = wanted if at_most is None else min(wanted, at_most)
        tried = max(1, round(wanted)) if key in _WHOLE else nice(wanted)
        return "" if tried == now else self.facts.suggest(key, tried, now)
