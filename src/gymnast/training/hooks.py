"""Hooks: optional extras that see each update's report and may ask for something.

A hook takes what it needs in its constructor, receives a frozen report and returns commands, which the loop
applies in plain sight. What always happens in training is a line in the loop, not a hook.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

from gymnast.algorithms.algorithm import Hyper
from gymnast.errors import GymnastError, RunFailed, did_you_mean
from gymnast.metrics import catalogue
from gymnast.metrics.spec import MetricSpec
from gymnast.training.report import Report, with_metrics


@dataclass(frozen=True, slots=True)
class Adjust:
    """From the next update on, a hyperparameter is its scheduled value times `factor`, or `value`, within
    [low, high]. With neither it follows its schedule again. Adjustments by several sources combine."""

    source: str  # who asks; a later command of the same source for the same key replaces the earlier one
    key: str
    why: str
    factor: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Training ends here."""

    why: str


Command = Adjust | Stop


class Hook:
    """Does nothing: override what is needed. `METRICS` declares what `metrics` reports."""

    METRICS: ClassVar[tuple[MetricSpec, ...]] = ()

    @property
    def name(self) -> str:
        """What a checkpoint keeps its state under."""
        return type(self).__qualname__

    def after_update(self, report: Report) -> Sequence[Command]:
        """Commands for the loop; mostly none."""
        return ()

    def metrics(self) -> dict[str, float]:
        """For this update's row, after `after_update` was called."""
        return {}

    def state(self) -> Any:
        """What a resumed run needs to decide as if it had never been stopped; plain data."""
        return {}

    def load_state(self, state: Any) -> None:
        """Restore it."""


def consult(
    hooks: Sequence[Hook], report: Report, hp: Hyper
) -> tuple[list[Command], Report, RunFailed | None]:
    """What all hooks ask for, and the report with their metrics; each sees those of the hooks before it.

    A hook that raises, or asks for what does not exist, ends the run: the error is returned, to be raised
    once this update is saved.
    """
    commands: list[Command] = []
    for hook in hooks:
        try:
            wanted = list(hook.after_update(report) or ())
            for command in wanted:
                _check_command(command, hp)
            metrics = hook.metrics()
            _check_metrics(metrics, report)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = str(error) if isinstance(error, GymnastError) else f"{type(error).__name__}: {error}"
            failed = RunFailed(f"hook '{hook.name}' failed: {what} ({where.filename}:{where.lineno})")
            failed.__cause__ = error
            return commands, report, failed
        commands += wanted
        report = with_metrics(report, metrics)
    return commands, report, None


def _check_command(command: Command, hp: Hyper) -> None:
    names = [known.name for known in fields(hp)]
    if isinstance(command, Adjust) and command.key not in names:
        raise GymnastError(f"no hyperparameter '{command.key}' to adjust{did_you_mean(command.key, names)}")


def _check_metrics(metrics: dict[str, float], report: Report) -> None:
    for key in metrics:
        catalogue.spec(key)
        if key in report.row:
            raise GymnastError(f"metric '{key}' is already reported by someone else")


H = TypeVar("H", bound=Hyper)


@dataclass(slots=True)
class Adjustments:
    """The adjustments in force; none in most runs."""

    in_force: dict[tuple[str, str], Adjust] = field(default_factory=dict)  # by source and key

    def take(self, command: Adjust) -> None:
        self.in_force.pop((command.source, command.key), None)  # what is new comes last
        if command.factor is not None or command.value is not None:
            self.in_force[command.source, command.key] = command

    def applied(self, hp: H) -> H:
        """The hyperparameters with every adjustment made."""
        if not self.in_force:
            return hp
        changed: dict[str, Any] = {}
        for adjust in self.in_force.values():
            key = adjust.key
            before = changed.get(key, getattr(hp, key))
            value = adjust.value if adjust.factor is None else before * adjust.factor
            assert value is not None
            changed[key] = within(key, value, adjust)
        for known in fields(hp):
            if known.name in changed and known.type == "int":
                changed[known.name] = round(changed[known.name])
        return replace(hp, **changed)

    def state(self) -> list[dict[str, Any]]:
        return [
            {f.name: getattr(adjust, f.name) for f in fields(Adjust)} for adjust in self.in_force.values()
        ]

    def load_state(self, state: list[dict[str, Any]]) -> None:
        self.in_force = {(values["source"], values["key"]): Adjust(**values) for values in state}


def within(key: str, value: float, adjust: Adjust) -> float:
    """The value clipped to the adjustment's bounds, and to the setting's own."""
    possible = catalogue.spec(f"opt/{key}")
    for low in (adjust.low, possible.low):
        value = value if low is None else max(value, low)
    for high in (adjust.high, possible.high):
        value = value if high is None else min(value, high)
    return value


def describe_adjustment(adjust: Adjust) -> str:
    """'algo.lr × 0.5: eval/return/mean has not improved …'."""
    if adjust.value is not None:
        change = f"algo.{adjust.key} = {adjust.value:g}"
    elif adjust.factor is not None:
        change = f"algo.{adjust.key} × {adjust.factor:g}"
    else:
        change = f"algo.{adjust.key} as scheduled"
    return f"{change}: {adjust.why}"
