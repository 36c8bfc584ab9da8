"""The first round without training anything: what is seen in runs that exist, and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gymnast.runs.store import RunFolder
from gymnast.tune.arms import Arms
from gymnast.tune.evidence import Evidence, Symptom, common_symptoms, look_at
from gymnast.tune.present import point_of
from gymnast.tune.proposals import Chooser, Proposed
from gymnast.tune.state import Plan

_ENV_BOUND = 0.85  # share of the time that is spent stepping envs


@dataclass(frozen=True, slots=True)
class Advice:
    """What round 1 of a tune would try."""

    runs: tuple[str, ...]
    symptoms: tuple[Symptom, ...]
    proposals: tuple[Proposed, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def advise(plan: Plan, runs: Sequence[RunFolder], arms: Arms | None = None) -> Advice:
    """Looks at these runs of the plan's settings; nothing is trained or written."""
    evidence = [look_at(run, plan.solved_at) for run in runs]
    symptoms = common_symptoms(evidence)
    rng = np.random.default_rng([plan.seeds[0], 1, 0x7E57])
    chooser = Chooser(plan, {}, {point_of({})}, rng, (arms or Arms()).counts())
    chosen = chooser.choose(min(6, max(4, plan.workers)), symptoms)
    ids = tuple(run.id for run in runs)
    return Advice(ids, tuple(symptoms), tuple(chosen), tuple(_notes(evidence, plan)))


def _notes(evidence: Sequence[Evidence], plan: Plan) -> list[str]:
    shares = [each.env_share for each in evidence if each.env_share is not None]
    if not shares or min(shares) < _ENV_BOUND:
        return []
    return [
        f"{min(shares):.0%} of the time is spent stepping envs: gymnast tune-envs {plan.reference} finds a "
        "faster way, and env.groups=2 or algo.collect_ahead=true overlap stepping and learning"
    ]
