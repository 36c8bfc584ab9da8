"""What a sweep is to do, completely: it is written once, when the sweep begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from gymnast.errors import GymnastError
from gymnast.sweeps.objective import Objective
from gymnast.sweeps.space import Space

Method = Literal["grid", "random", "bayes"]
METHODS: tuple[str, ...] = ("grid", "random", "bayes")
EXECUTORS: tuple[str, ...] = ("local", "ray", "modal")


@dataclass(frozen=True, slots=True)
class Seeds:
    """Which seeds runs get. Those of the search, of the race and of the test are different ones."""

    first: int = 1000  # of the search: each trial has others; the race's and the test's come far behind
    per_trial: int = 1
    race: int = 3
    contenders: int = 5
    test: int = 5

    def of_trial(self, trial: int) -> list[int]:
        return [self.first + trial * self.per_trial + place for place in range(self.per_trial)]

    def of_race(self) -> list[int]:
        return [self.first + 100_000 + place for place in range(self.race)]

    def of_test(self) -> list[int]:
        return [self.first + 200_000 + place for place in range(self.test)]


@dataclass(frozen=True, slots=True)
class Plan:
    """One sweep."""

    reference: str
    method: Method
    trials: int
    space: Space
    objective: Objective
    budget: int  # env steps of one run
    overrides: dict[str, Any] = field(default_factory=dict)  # the same in all trials, by dotted key
    seeds: Seeds = field(default_factory=Seeds)
    rungs: tuple[int, ...] = ()  # env steps at which trials wait to be promoted
    eta: float = 3.0  # of those at a rung, one in so many is promoted
    prune: bool = True
    init_from: str | None = None
    workers: int = 1
    executor: str = "local"
    patience: float | None = None  # seconds without an update after which a run counts as hung
    seed: int = 0  # of the search itself
    name: str = ""
    description: str = ""
    config_dirs: tuple[str, ...] = ()
    machine: dict[str, Any] = field(default_factory=dict)  # of `modal`: max_cost, cores, memory, gpu

    def to_json(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {
            "space": self.space.to_json(),
            "objective": self.objective.to_json(),
            "seeds": asdict(self.seeds),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Plan:
        """What `to_json` wrote; GymnastError if it is damaged."""
        try:
            known: dict[str, Any] = {field.name: values[field.name] for field in fields(cls)}
            known["space"] = Space.from_json(known["space"])
            known["objective"] = Objective.from_json(known["objective"])
            known["seeds"] = Seeds(**known["seeds"])
            known["rungs"], known["config_dirs"] = tuple(known["rungs"]), tuple(known["config_dirs"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise GymnastError(f"the plan of this sweep is damaged: {error!r}") from error
        return cls(**known)
