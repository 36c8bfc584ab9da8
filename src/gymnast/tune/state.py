"""What is known of a tune: its plan, the rounds so far, and what they cost. All of it is in tune.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

TuneStatus = Literal["working", "stopped", "no-better", "confirmed", "not-confirmed"]
CandidateStatus = Literal["racing", "failed", "out", "beaten", "accepted"]
METHODS = ("diagnose", "random")


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for; it never changes."""

    reference: str
    overrides: dict[str, Any]  # the user's
    fixed: dict[str, Any]  # the same in all runs: how often to evaluate and save
    budget: int  # env steps of one run
    seeds: tuple[int, ...]  # of the races
    fresh_seeds: tuple[int, ...]  # of the confirmation
    workers: int
    max_env_steps: int | None = None
    seconds: float | None = None
    until_solved: bool = False
    method: str = "diagnose"
    solved_at: float | None = None
    ceiling: float | None = None  # no score is higher
    from_run: str | None = None  # a run of the user's that stands for the first seed
    ask_model: bool = False
    config_dirs: tuple[str, ...] = ()

    def settings(self, changes: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
        """All overrides of a run with these changes."""
        own = {} if seed is None else {"seed": seed}
        return {**self.overrides, **self.fixed, **changes, **own}


@dataclass(slots=True)
class Candidate:
    """A change that is raced, and how that went."""

    id: str
    source: str  # table, trust region, model, random
    changes: dict[str, Any]  # all that differ from the plan's settings, those accepted before too
    edit: dict[str, Any]  # what it changes of the incumbent
    why: str
    arm: str | None = None
    runs: dict[str, str] = field(default_factory=dict)  # run by seed
    forks: dict[str, str] = field(default_factory=dict)  # RUN/STEP by seed; empty: from the beginning
    status: CandidateStatus = "racing"
    reached: float = 0.0  # share of the remaining steps
    deltas: list[float | None] = field(default_factory=list)  # paired, of the score AUC
    note: str = ""


@dataclass(slots=True)
class Round:
    """One round: what was seen, what was tried, what was accepted."""

    number: int
    incumbent: dict[str, str]  # run by seed
    symptoms: list[dict[str, Any]]
    candidates: list[Candidate]
    accepted: str | None = None
    done: bool = False


@dataclass(slots=True)
class TuneState:
    """All of it."""

    id: str
    created: str
    plan: Plan
    status: TuneStatus = "working"
    message: str = ""
    baseline: dict[str, str] = field(default_factory=dict)  # run by seed
    incumbent: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)  # accepted so far
    rounds: list[Round] = field(default_factory=list)
    confirmation: dict[str, str] = field(default_factory=dict)
    scores: dict[str, float | None] = field(default_factory=dict)  # score AUC by run
    spent: dict[str, int] = field(default_factory=dict)  # env steps by run, without what a fork inherited
    seconds: float = 0.0  # of all drivers together
    variant: str | None = None
    search_over: str = ""  # why no further round begins

    @property
    def env_steps(self) -> int:
        return sum(self.spent.values())

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"env_steps": self.env_steps}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TuneState:
        """ValueError, KeyError or TypeError if it is not what `to_json` gave."""
        plan = _known(Plan, values["plan"])
        plan |= {key: tuple(plan[key]) for key in ("seeds", "fresh_seeds", "config_dirs")}
        rounds = []
        for each in values["rounds"]:
            candidates = [Candidate(**_known(Candidate, item)) for item in each["candidates"]]
            rounds.append(Round(**{**_known(Round, each), "candidates": candidates}))
        return cls(**{**_known(cls, values), "plan": Plan(**plan), "rounds": rounds})


def _known(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: values[each.name] for each in fields(kind) if each.name in values}
