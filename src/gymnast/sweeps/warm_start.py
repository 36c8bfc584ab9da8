"""What a sweep begins with: the preset's own values, then the best earlier runs of the env and algorithm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnast.config.dump import flat_data
from gymnast.config.load import ResolvedConfig
from gymnast.config.search import Choice
from gymnast.errors import GymnastError
from gymnast.runs import registry
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import is_of_one_piece, settings_of
from gymnast.sweeps.default_space import own_values
from gymnast.sweeps.objective import measure
from gymnast.sweeps.plan import Plan
from gymnast.sweeps.search import Proposal
from gymnast.sweeps.space import Point, Space

_MOST_EARLIER = 5
_MOST_READ = 30  # runs whose configs are looked at
# What does not change what a run learns.
_ASIDE = ("seed", "checkpoint.", "video.", "play.", "observe.", "hooks", "sinks", "sweep", "env.spec.")


def first_proposals(
    plan: Plan, resolved: ResolvedConfig, root: Path
) -> tuple[list[Proposal], list[dict[str, Any]]]:
    """(points to be tried first, values that are known already), the preset itself before all others."""
    point = plan.space.clipped(own_values(resolved.config, plan.space))
    proposals = [Proposal("baseline", point, {}, "the preset's own values")]
    if plan.method != "bayes":
        return proposals, []
    fixed = _relevant(flat_data(_plain(resolved)), plan.space)
    observed: list[dict[str, Any]] = []
    seen = {json.dumps(point, sort_keys=True, default=str)}
    for entry, settings in _earlier(plan, resolved, root):
        found = _point_in(settings, plan.space)
        text = json.dumps(found, sort_keys=True, default=str)
        if found is None or text in seen:
            continue
        seen.add(text)
        value = measure(RunFolder(root / entry.id), plan.objective, ended=True).value
        same = _relevant(settings, plan.space) == fixed and plan.init_from is None
        if same and value is not None and is_of_one_piece(RunFolder(root / entry.id)):
            observed.append({"run": entry.id, "point": found, "value": value})
        else:
            proposals.append(Proposal("earlier", found, dict(found), f"run {entry.id}"))
        if len(observed) + len(proposals) > _MOST_EARLIER:
            break
    return proposals[: max(1, plan.trials)], observed


def _earlier(
    plan: Plan, resolved: ResolvedConfig, root: Path
) -> list[tuple[registry.RunEntry, Mapping[str, Any]]]:
    """Finished runs of the same env and algorithm with their settings, the best score AUC first."""
    config = resolved.config
    try:
        known = registry.entries(root)
    except GymnastError:
        return []
    fitting = [
        entry
        for entry in known
        if entry.env == config.env.id
        and entry.algo == config.algo.name
        and entry.status == "finished"
        and entry.score_auc is not None
    ]
    fitting.sort(key=lambda entry: entry.score_auc or 0.0, reverse=True)
    found: list[tuple[registry.RunEntry, Mapping[str, Any]]] = []
    for entry in fitting[:_MOST_READ]:
        try:
            found.append((entry, settings_of(RunFolder(root / entry.id))))
        except GymnastError:
            continue
    return found


def _point_in(settings: Mapping[str, Any], space: Space) -> Point | None:
    """Where a run's settings are in the space; None if they are outside of it."""
    point: Point = {}
    for key, dimension in space.dimensions.items():
        value = settings.get(key)
        if key == "algo.batch_size" and isinstance(dimension, Choice) and isinstance(value, (int, float)):
            rollout = settings.get("env.n_envs"), settings.get("algo.n_steps")
            if value > 1 and all(isinstance(size, int) for size in rollout):
                value = value / (rollout[0] * rollout[1])  # type: ignore[operator]
        if value is None:
            return None
        point[key] = value
    return point if space.fits(point) else None


def _relevant(settings: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """What two runs must have in common, beside what is searched."""
    return {
        key: value
        for key, value in settings.items()
        if not key.startswith(_ASIDE) and key not in space.dimensions
    }


def _plain(resolved: ResolvedConfig) -> Any:
    """As a run's config.yaml reads."""
    return json.loads(json.dumps(resolved.config.model_dump(), default=str))
