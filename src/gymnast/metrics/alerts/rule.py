"""A rule of health: when it fires, what that means, and what to change.

A rule is declared in a tuple `RULES`, in a file beside the metrics it reads; `table.py` names the files. Its
page in the docs is generated from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gymnast.metrics.alerts.alert import Severity
from gymnast.metrics.alerts.look import Look

Group = Literal["policy update", "exploration", "critic", "network", "environment", "run"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's condition holds."""

    severity: Severity
    message: str
    metric: str = ""  # another metric than the rule's own: one of those that its pattern matches


@dataclass(frozen=True, slots=True)
class AlertRule:
    """`check` looks at the run; `advise` says what to change, most promising first, in one line."""

    id: str
    group: Group
    metric: str  # the metric whose row in the console shows it
    reads: tuple[str, ...]  # all metrics that `check` and `advise` look at; `*` at the end matches any name
    when: str  # the condition in words, with its numbers
    means: str  # why that is a problem, and what it usually comes from
    check: Callable[[Look], Finding | None]
    advise: Callable[[Look], str]
    source: str = ""  # where the numbers come from
    warmup: int = 5  # updates before the first check
    unless_solved: bool = False  # a solved run may do this
    while_learning: bool = False  # not once the learning rate has fallen to a tenth
    raise_after: int = 2  # checks in a row that it has to hold
    clear_after: int = 3  # checks in a row that it must not hold, to be cleared
    by_clock: bool = False  # depends on the machine's speed, so it is not part of a run's repeatable metrics
