"""Metrics that no run of a config has, since they belong to a feature that it does not use."""

from __future__ import annotations

from collections.abc import Callable

from gymnast.config.schema import Config
from gymnast.parts.bonus import NoBonusConfig

Uses = Callable[[Config], bool]

# Beginnings of metrics; the setting that switches them on; whether a config does.
_FEATURES: tuple[tuple[tuple[str, ...], str, Uses], ...] = (
    (("explore/",), "explore.name", lambda config: not isinstance(config.explore, NoBonusConfig)),
    (("task/", "eval/task/"), "env.mix", lambda config: config.env.mix is not None),
    (("train/policy_lag/",), "cluster.on", lambda config: config.cluster.collects),
    (
        ("time/actors/", "time/actor/", "time/actor_lost/"),
        "cluster.on",
        lambda config: config.cluster.on != "none" or config.env.backend == "remote",
    ),
    (("opt/interventions", "opt/reverts"), "interventions", lambda config: bool(config.interventions)),
    (("train/popart/",), "policy.popart", lambda config: config.policy.popart),
)


def missing_feature(metric: str, config: Config) -> str | None:
    """The setting without which no run has this metric; None where nothing is known to be missing."""
    for beginnings, setting, uses in _FEATURES:
        if metric.startswith(beginnings) and not uses(config):
            return setting
    return None
