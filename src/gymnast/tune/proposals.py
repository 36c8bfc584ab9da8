"""What a round tries: half by the table of edits, a quarter near the incumbent, at most a quarter by a model.

No point is tried twice, and what the config loader refuses is not tried at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.errors import GymnastError
from gymnast.metrics.alerts.alert import SEVERITIES
from gymnast.sweeps.default_space import default_space, own_values
from gymnast.tune.edits import Edit, edits_for
from gymnast.tune.evidence import Symptom
from gymnast.tune.present import Changes, Present, point_of, rounded
from gymnast.tune.state import Plan

# Wins that an arm has before it was ever tried: by the severity of its symptom, for the symptom that came
# first among the worst (others may follow from it), for being the most direct edit, and for each further
# symptom that asks for the same.
_PRIOR = {"info": 1.0, "warning": 2.0, "critical": 3.0}
_ROOT, _DIRECT, _VOTE = 2.0, 1.0, 1.0
# And losses, as most edits do not help. With fewer, luck among many weak arms beats the few strong ones.
_LOSSES = 4.0
_DRAWS = 24  # points near the incumbent, of which the most promising is tried

ByModel = Callable[[int], Iterable[tuple[Changes, str]]]


@dataclass(frozen=True, slots=True)
class Proposed:
    """One change of the incumbent."""

    source: str
    edit: Changes
    changes: Changes  # with all that was accepted before
    why: str
    arm: str | None = None


@dataclass(slots=True)
class Chooser:
    """Makes the proposals of one round."""

    plan: Plan
    changes: Changes  # of the incumbent
    tried: set[str]  # points
    rng: np.random.Generator
    counts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    results: Sequence[tuple[Changes, float]] = ()  # points of this tune, and whether they gained (-1 … 1)

    def config(self) -> Config:
        return self._load(self.changes)

    def choose(
        self, count: int, symptoms: Sequence[Symptom], by_model: ByModel | None = None
    ) -> list[Proposed]:
        """At most `count` new points."""
        if self.plan.method == "random":
            return self._fill([], count, self._random)
        near = max(1, count // 4)
        found: list[Proposed] = []
        if by_model is not None and count >= 4:
            for edit, why in by_model(count // 4):
                if len(found) < count // 4:
                    self._add(found, "model", edit, why)
        self._by_table(found, count - near, symptoms)
        return self._fill(found, count, self._near)

    def ranked(self, symptoms: Sequence[Symptom]) -> list[Edit]:
        """The edits that the symptoms ask for: first the one that is most likely to help, so that luck cannot
        leave it out, then the others in the order of one draw from what is known of their arms."""
        severities = {symptom.name: symptom.severity for symptom in symptoms}
        worst = max(map(SEVERITIES.index, severities.values()), default=0)
        gravest = [symptom for symptom in symptoms if SEVERITIES.index(symptom.severity) == worst]
        root = min(gravest, key=lambda symptom: symptom.first_step).name if gravest else ""
        edits = list(edits_for(Present(self.config()), symptoms))
        drawn = []
        for edit in edits:
            wins, losses = self.counts.get(edit.arm, (0.0, 0.0))
            symptom = edit.arm.partition(" → ")[0]
            wins += _PRIOR[severities[symptom]] + _ROOT * (symptom == root)
            wins += _DIRECT * edit.is_first + _VOTE * (edit.votes - 1)
            losses += _LOSSES
            drawn.append((wins / (wins + losses), float(self.rng.beta(wins, losses)), edit))
        surest = max(drawn, key=lambda each: each[0], default=None)
        drawn.sort(key=lambda each: (each is not surest, -each[1]))
        return [edit for _, _, edit in drawn]

    def _by_table(self, found: list[Proposed], most: int, symptoms: Sequence[Symptom]) -> None:
        kinds: set[str] = set()  # a round has one of each: more of one says little about the others
        for edit in self.ranked(symptoms):
            if len(found) >= most:
                return
            if edit.kind not in kinds and self._add(found, "table", edit.changes, edit.why, edit.arm):
                kinds.add(edit.kind)

    def _fill(
        self, found: list[Proposed], count: int, draw: Callable[[], tuple[Changes, str]]
    ) -> list[Proposed]:
        for _ in range(20 * count):
            if len(found) >= count:
                break
            edit, why = draw()
            self._add(found, "random" if self.plan.method == "random" else "near", edit, why)
        return found

    def _add(
        self, found: list[Proposed], source: str, edit: Changes, why: str, arm: str | None = None
    ) -> bool:
        """Whether it is a new point that loads."""
        changes = with_edit(self.changes, edit)
        point = point_of(changes)
        if not edit or point in self.tried:
            return False
        try:
            if self._load(changes) == self.config():
                return False
        except GymnastError:
            return False
        self.tried.add(point)
        found.append(Proposed(source, dict(edit), changes, why, arm))
        return True

    def _load(self, changes: Changes) -> Config:
        dirs = [Path(folder) for folder in self.plan.config_dirs]
        return load_config(self.plan.reference, self.plan.settings(changes), config_dirs=dirs).config

    def _random(self) -> tuple[Changes, str]:
        space = default_space(self.config(), self.plan.budget)
        return _rounded(space.draw(int(self.rng.integers(2**31)))), "drawn from the whole space"

    def _near(self) -> tuple[Changes, str]:
        """One to three settings moved by up to a factor of 4; of some draws the one that is most like what
        gained so far, and least like what was tried."""
        config = self.config()
        space = default_space(config, self.plan.budget)
        now = own_values(config, space)
        keys = [key for key in now if isinstance(now[key], (int, float)) and not isinstance(now[key], bool)]
        if not keys:
            return {}, ""
        draws = [self._moved(space.dimensions, now, keys) for _ in range(_DRAWS)]
        best = max(draws, key=lambda edit: self._promise(space.dimensions, now, edit))
        return best, f"within a factor of 4 of the incumbent: {', '.join(best)}"

    def _moved(self, dimensions: Mapping[str, Any], now: Mapping[str, Any], keys: Sequence[str]) -> Changes:
        count = min(len(keys), int(self.rng.integers(1, 4)))
        edit: Changes = {}
        for key in self.rng.choice(keys, count, replace=False).tolist():
            factor = 4.0 ** float(self.rng.uniform(-1, 1))
            dimension, value = dimensions[key], now[key]
            if isinstance(dimension, OneMinusLog):
                edit[key] = float(f"{dimension.clip(1 - (1 - value) * factor):.5g}")
            elif isinstance(dimension, Pow2):
                edit[key] = dimension.clip(value * factor)
            elif isinstance(dimension, Choice):
                nearby = [each for each in dimension.values if value / 4 <= each <= value * 4]
                edit[key] = nearby[int(self.rng.integers(len(nearby)))] if nearby else value
            else:
                edit[key] = _number(dimension, (value or dimension.low) * factor)
        return {key: value for key, value in edit.items() if value != now[key]}

    def _promise(self, dimensions: Mapping[str, Any], now: Mapping[str, Any], edit: Changes) -> float:
        """A weighted mean of what nearby points gained, and a little for being far from all of them."""
        if not edit:
            return -math.inf

        def units(point: Mapping[str, Any]) -> np.ndarray:
            return np.array([_unit(dimensions[key], point.get(key, now[key])) for key in now])

        here = units({**now, **edit})
        near = [(float(np.abs(here - units(point)).sum()), gain) for point, gain in self.results]
        if not near:
            return float(self.rng.random())
        weights = [math.exp(-4 * distance) for distance, _ in near]
        mean = sum(w * gain for w, (_, gain) in zip(weights, near, strict=True)) / (1e-3 + sum(weights))
        return mean + 0.3 * min(1.0, *(distance for distance, _ in near)) + 0.05 * float(self.rng.random())


def with_edit(changes: Mapping[str, Any], edit: Mapping[str, Any]) -> Changes:
    """Changes with an edit on top; one of a whole setting takes the place of those of its parts."""
    merged = {
        key: value
        for key, value in changes.items()
        if key not in edit and not any(key.startswith(f"{new}.") for new in edit)
    }
    for key, value in edit.items():
        parent, _, last = key.rpartition(".")
        whole = merged.get(parent)
        if isinstance(whole, Mapping):
            merged[parent] = {**whole, last: value}
        else:
            merged[key] = value
    return merged


def _unit(dimension: Any, value: Any) -> float:
    try:
        return float(dimension.unit(dimension.clip(value)))
    except (TypeError, ValueError):
        return 0.5


def _number(dimension: Range | LogRange, value: float) -> float | int:
    inside = dimension.clip(value)
    return int(inside) if dimension.whole else rounded(float(inside))


def _rounded(point: Mapping[str, Any]) -> Changes:
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in point.items()}
