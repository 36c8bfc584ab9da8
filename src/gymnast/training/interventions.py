"""Plateau interventions: when a metric stalls, a hyperparameter is changed by rule.

A rule watches one metric. If that has not improved for `patience`, the rule acts: it multiplies or
sets a hyperparameter, or stops the run. Then it waits for `cooldown`, and it may take back what it did,
after a while or if the metric got worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from gymnast.training.hooks import Adjust, Command, Hook, Stop
from gymnast.training.settings import InterventionConfig

if TYPE_CHECKING:
    from gymnast.training.report import Report


@dataclass(slots=True)
class RuleState:
    """Where one rule stands; times are in the rule's unit, values are turned so that higher is better."""

    best: float | None = None
    best_at: int = 0  # when it was last better, or when waiting began anew
    times: int = 0
    quiet_until: int = 0
    acted_at: int | None = None  # the change that could still be taken back
    value_then: float = 0.0
    undo: list[float] = field(default_factory=list)  # factors in force, the last one's undoing takes it off


class PlateauHook(Hook):
    """All rules of a run."""

    name = "interventions"

    def __init__(self, rules: Sequence[InterventionConfig]) -> None:
        self.rules = tuple(rules)
        self.states = [RuleState() for _ in self.rules]
        self.interventions = self.reverts = 0

    def after_update(self, report: Report) -> list[Command]:
        commands: list[Command] = []
        for number, (rule, state) in enumerate(zip(self.rules, self.states, strict=True), start=1):
            now = report.env_steps if rule.unit == "env_steps" else report.updates
            found = report.row.get(rule.metric)  # an evaluation's metrics are not in every row
            command = self._decide(
                number, rule, state, now, None if found is None else rule.sign * float(found)
            )
            if command is not None:
                commands.append(command)
        return commands

    def _decide(
        self, number: int, rule: InterventionConfig, state: RuleState, now: int, value: float | None
    ) -> Command | None:
        if (undone := self._take_back(number, rule, state, now, value)) is not None:
            return undone
        if value is not None and (state.best is None or value > state.best + rule.min_delta):
            state.best, state.best_at = value, now
        stalled = state.best is not None and now - state.best_at >= rule.patience
        if not stalled or now < state.quiet_until or state.times >= rule.max_times:
            return None
        waited = now - state.best_at
        state.times += 1
        state.quiet_until = now + rule.cooldown
        state.best_at = now + rule.cooldown  # the change gets its own time to show
        unit = rule.unit.replace("_", " ")
        best = rule.sign * (state.best or 0.0)
        why = f"{rule.metric} has not improved for {waited:,} {unit} (best {best:.4g})"
        self.interventions += 1
        if rule.stop:
            return Stop(why)
        state.acted_at = now
        state.value_then = value if value is not None else state.best or 0.0
        if rule.multiply is not None:
            state.undo.append(rule.multiply)
        else:
            state.undo = [1.0]
        return self._adjust(number, rule, state, why)

    def _adjust(self, number: int, rule: InterventionConfig, state: RuleState, why: str) -> Adjust:
        assert rule.setting is not None
        source = f"rule {number}"  # its place: two rules may read the same
        if not state.undo:
            return Adjust(source, rule.setting, why)
        factor = None
        if rule.multiply is not None:
            factor = 1.0
            for each in state.undo:
                factor *= each
        return Adjust(source, rule.setting, why, factor, rule.set, rule.low, rule.high)

    def _take_back(
        self, number: int, rule: InterventionConfig, state: RuleState, now: int, value: float | None
    ) -> Adjust | None:
        if state.acted_at is None:
            return None
        why = None
        if rule.revert_after is not None and now - state.acted_at >= rule.revert_after:
            why = f"its time is over ({rule.revert_after:,} {rule.unit.replace('_', ' ')})"
        elif (
            rule.revert_if_worse is not None
            and value is not None
            and value < state.value_then - rule.revert_if_worse
        ):
            why = f"{rule.metric} fell from {rule.sign * state.value_then:.4g} to {rule.sign * value:.4g}"
            if rule.sign < 0:
                why = why.replace(" fell ", " rose ")
        if why is None:
            return None
        state.acted_at = None
        state.undo.pop()
        self.reverts += 1
        return self._adjust(number, rule, state, f"taken back: {why}")

    def metrics(self) -> dict[str, float]:
        return {"opt/interventions": self.interventions, "opt/reverts": self.reverts}

    def state(self) -> dict[str, Any]:
        rules = [{f.name: getattr(state, f.name) for f in fields(RuleState)} for state in self.states]
        return {"rules": rules, "interventions": self.interventions, "reverts": self.reverts}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take the rules' standing back; with another number of rules than before, all wait anew."""
        self.interventions, self.reverts = int(state["interventions"]), int(state["reverts"])
        if len(state["rules"]) == len(self.rules):
            self.states = [RuleState(**values) for values in state["rules"]]
