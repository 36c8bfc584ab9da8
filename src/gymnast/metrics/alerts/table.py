"""All rules of health. A new one is an `AlertRule` in the file beside the metric it is about."""

from __future__ import annotations

import importlib
from functools import cache

from gymnast.errors import GymnastError
from gymnast.metrics.alerts.rule import AlertRule

DECLARED_IN = (
    "gymnast.algorithms.alerts.policy_update",
    "gymnast.algorithms.alerts.exploration",
    "gymnast.algorithms.alerts.critic",
    "gymnast.policies.alerts",
    "gymnast.rollout.alerts.observations",
    "gymnast.rollout.alerts.rewards",
    "gymnast.rollout.alerts.actors",
    "gymnast.training.alerts",
    "gymnast.cluster.alerts",
)


@cache
def all_rules() -> tuple[AlertRule, ...]:
    """Every rule, sorted by id."""
    rules = [rule for module in DECLARED_IN for rule in importlib.import_module(module).RULES]
    ids = [rule.id for rule in rules]
    if len(set(ids)) != len(ids):
        raise GymnastError(f"alert rules declared twice: {sorted({i for i in ids if ids.count(i) > 1})}")
    return tuple(sorted(rules, key=lambda rule: rule.id))
