"""Watches a run's health: feeds every metrics row to the rules, and keeps what they found.

It reads nothing but rows and the run's settings, so `gymnast diagnose` finds the same in a metrics file as
the run itself did while it trained.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gymnast.metrics.alerts.alert import SEVERITIES, Alert, Severity
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.look import FIRST, HUGE, WINDOW, Look, Window
from gymnast.metrics.alerts.rule import AlertRule
from gymnast.metrics.alerts.table import all_rules
from gymnast.metrics.spec import MetricSpec

METRICS = tuple(
    MetricSpec(f"alert/{severity}", f"Health alerts of severity {severity} that are active.", "", 0, low=0)
    for severity in SEVERITIES
)
_ALWAYS = 10  # the first updates, in which each is checked
_STEPS_PER_CHECK = 1024  # later: small updates come in hundreds per second, and change little each
_EPISODES = 100  # that training's score is the mean of
_SCORES = ("train/return_plain/mean", "train/return/mean")


@dataclass(slots=True)
class _Record:
    """What is known of one rule."""

    hits: int = 0  # in a row
    misses: int = 0  # in a row
    active: bool = False
    count: int = 0  # checks that found it
    first_step: int = 0
    last_step: int = 0
    severity: Severity = "info"  # the worst
    now: Severity = "info"
    metric: str = ""
    message: str = ""  # of the worst
    advice: str = ""
    metric_now: str = ""  # as it holds now; empty: as the worst
    message_now: str = ""
    advice_now: str = ""


class Monitor:
    """Feed it rows in order; ask it for alerts."""

    def __init__(self, facts: RunFacts, rules: Iterable[AlertRule] | None = None) -> None:
        self.look = Look(facts)
        self._rules = tuple(all_rules() if rules is None else rules)
        self._records = {rule.id: _Record() for rule in self._rules}
        self._wanted = {key for rule in self._rules for key in rule.reads} | {"opt/lr", *_SCORES}
        self._patterns = tuple(key[:-1] for key in self._wanted if key.endswith("*"))
        self._places: dict[str, Window | None] = {}  # None: no rule reads it
        self._found: tuple[tuple[Alert, ...], dict[str, float]] | None = None  # of the last check
        size = facts.rollout_steps
        self._every = 1 if not size else max(1, round(_STEPS_PER_CHECK / size))

    def take(self, row: Mapping[str, Any]) -> tuple[Alert, ...]:
        """One update's metrics; the alerts active after it, by id."""
        self._add(row)
        updates = self.look.updates
        if updates <= _ALWAYS or updates % self._every == 0:
            self.look.per_check = 1 if updates <= _ALWAYS else self._every
            self._check()
        return self.active()

    def diverged(self, step: int, metrics: Mapping[str, Any]) -> None:
        """The update in which the loss became NaN or infinite: the run ends before it has a row."""
        self._add({**metrics, "time/env_steps": step})
        self._check()

    def _add(self, row: Mapping[str, Any]) -> None:
        look = self.look
        step = look.step = int(row.get("time/env_steps") or 0)
        look.updates += 1
        look.row = row
        places = self._places
        for key, value in row.items():
            try:
                window = places[key]
            except KeyError:
                window = self._place(key)
            if window is not None and value is not None:
                if -HUGE < value < HUGE:
                    window.add(value, step)
                else:
                    look.broken[key] = "NaN" if math.isnan(value) else "infinite"
        score = row.get(_SCORES[0], row.get(_SCORES[1]))
        if score is not None and -HUGE < score < HUGE:
            look.score.add(step, score)
        if row.get("eval/solved") is not None:
            look.evaluated, look.solved = True, bool(row["eval/solved"])
        elif not look.evaluated and score is not None and look.facts.solved_at is not None:
            look.solved = row.get("time/episodes", 0) >= _EPISODES and score >= look.facts.solved_at

    def active(self) -> tuple[Alert, ...]:
        """Those that hold now, with their present severity and numbers."""
        return self._since_check()[0]

    def _since_check(self) -> tuple[tuple[Alert, ...], dict[str, float]]:
        """The alerts that hold, and how many; only a check changes them, and most updates have none."""
        if self._found is None:
            active = (_now(id_, record) for id_, record in self._records.items() if record.active)
            counts = dict.fromkeys(SEVERITIES, 0)
            for rule in self._rules:
                record = self._records[rule.id]
                if record.active and not rule.by_clock:
                    counts[record.now] += 1
            self._found = (tuple(active), {f"alert/{severity}": n for severity, n in counts.items()})
        return self._found

    def raised(self) -> tuple[Alert, ...]:
        """All since the run began, by id, with the worst severity of each."""
        return tuple(_worst(id_, record) for id_, record in self._records.items() if record.count)

    def metrics(self) -> dict[str, float]:
        """Active alerts by severity; not those that depend on the clock."""
        return self._since_check()[1]

    def _place(self, key: str) -> Window | None:
        read = key in self._wanted or any(
            key.startswith(start) and "/" not in key[len(start) :] for start in self._patterns
        )
        window = self._places[key] = Window() if read else None
        if window is not None:
            self.look.windows[key] = window
        return window

    def _check(self) -> None:
        self._found = None
        self._check_rules()
        self.look.broken.clear()

    def _check_rules(self) -> None:
        look = self.look
        for rule in self._rules:
            record = self._records[rule.id]
            found = None
            if (
                look.updates > rule.warmup
                and not (rule.unless_solved and look.solved)
                and not (rule.while_learning and look.schedule_ended)
            ):
                found = rule.check(look)
            if found is None:
                record.hits = 0
                if record.active:
                    record.misses += 1
                    record.active = record.misses < rule.clear_after
                continue
            record.misses = 0
            record.hits += 1
            if not record.active and record.hits < rule.raise_after:
                continue
            worse = SEVERITIES.index(found.severity) > SEVERITIES.index(record.severity)
            if not record.count:
                record.first_step = look.step
            metric, advice = found.metric or rule.metric, rule.advise(look)
            if worse or not record.count or found.severity == record.severity:
                record.metric, record.message, record.advice = metric, found.message, advice
                metric = message = advice = ""
            else:
                message = found.message
            record.metric_now, record.message_now, record.advice_now = metric, message, advice
            record.severity = found.severity if worse or not record.count else record.severity
            record.active, record.now = True, found.severity
            record.count += 1
            record.last_step = look.step

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs to find the same, numbers exactly. What depends on the clock is left
        out: it starts again with the process, and equal runs have equal states."""
        look, clocked = self.look, {rule.id for rule in self._rules if rule.by_clock}
        repeatable = {key for rule in self._rules if not rule.by_clock for key in rule.reads}
        by_clock = {key for rule in self._rules if rule.by_clock for key in rule.reads} - repeatable
        windows = {key: window for key, window in look.windows.items() if key not in by_clock}
        values = np.full((len(windows), WINDOW), np.nan)
        first = np.full((len(windows), FIRST), np.nan)
        for place, window in enumerate(windows.values()):
            values[place, : len(window.values)] = window.values
            first[place, : len(window.first)] = window.first
        return {
            "updates": look.updates,
            "solved": look.solved,
            "evaluated": look.evaluated,
            "broken": dict(look.broken),
            "score": look.score.state(),
            "keys": list(windows),
            "seen": [window.seen for window in windows.values()],
            "values": values,
            "first": first,
            "steps": [window.step for window in windows.values()],
            "extremes": np.array([[w.high, w.high_step, w.low, w.low_step] for w in windows.values()]),
            "records": {
                id_: asdict(record)
                for id_, record in self._records.items()
                if record != _Record() and id_ not in clocked
            },
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self._found = None
        look = self.look
        look.updates, look.solved = int(state["updates"]), bool(state["solved"])
        look.evaluated = bool(state.get("evaluated", True))
        look.broken = dict(state["broken"])
        look.score.load_state(state["score"])
        steps = state.get("steps") or [look.step] * len(state["keys"])  # checkpoints of before have none
        for place, key in enumerate(state["keys"]):
            window = self._place(key)
            if window is None:
                continue  # no rule reads it any more
            window.seen = seen = int(state["seen"][place])
            window.values.extend(state["values"][place, :seen].tolist())
            window.first = state["first"][place, :seen].tolist()
            window.step = int(steps[place])
            high, high_step, low, low_step = state["extremes"][place].tolist()
            window.high, window.high_step = high, int(high_step)
            window.low, window.low_step = low, int(low_step)
        for id_, values in state["records"].items():
            if id_ in self._records:
                self._records[id_] = _Record(**values)


def _worst(id_: str, record: _Record) -> Alert:
    return Alert(
        id_,
        record.severity,
        record.metric,
        record.message,
        record.advice,
        record.count,
        record.first_step,
        record.last_step,
    )


def _now(id_: str, record: _Record) -> Alert:
    """As it holds now, which may be less than it was."""
    worst = _worst(id_, record)
    if not record.message_now:
        return replace(worst, severity=record.now)
    return replace(
        worst,
        severity=record.now,
        metric=record.metric_now,
        message=record.message_now,
        advice=record.advice_now,
    )


def facts_of(settings: Mapping[str, Any], solved_at: float | None = None) -> RunFacts:
    """What a run's own config says, by dotted key."""
    n_envs, n_steps = settings.get("env.n_envs"), settings.get("algo.n_steps")
    known = isinstance(n_envs, int) and isinstance(n_steps, int)
    return RunFacts(
        settings,
        rollout_steps=n_envs * n_steps if known else None,  # type: ignore[operator]
        n_envs=n_envs if isinstance(n_envs, int) else None,
        solved_at=solved_at,
    )
