"""What a rule sees between two checks, and of the metrics that a pattern stands for."""

from __future__ import annotations

import math

import pytest

from gymnast.metrics.alerts.facts import RunFacts, either
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.metrics.alerts.rule import AlertRule, Finding


def _spike(look: Look) -> Finding | None:
    value = max(look.recent("train/kl"), default=0.0)
    return Finding("warning", f"KL {value:g}") if value > 1 else None


SPIKE = AlertRule(
    id="spike",
    group="policy update",
    metric="train/kl",
    reads=("train/kl",),
    when="",
    means="",
    check=_spike,
    advise=lambda look: "",
    warmup=0,
    raise_after=1,
)


def fed(values: list[float], size: int | None = None) -> Monitor:
    monitor = Monitor(RunFacts(rollout_steps=size), [SPIKE])
    for number, value in enumerate(values, 1):
        monitor.take({"time/env_steps": 100 * number, "train/kl": value, f"net/dead/part{number % 3}": 0.0})
    return monitor


def test_a_spike_is_found_by_the_next_check_though_other_updates_followed_it() -> None:
    calm = [0.0] * 13
    assert not fed([*calm, 5.0, 0.0], size=128).raised()  # checked every eighth update
    (alert,) = fed([*calm, 5.0, *[0.0] * 10], size=128).raised()
    assert (alert.first_step, alert.count) == (1600, 1)
    assert fed([0.0] * 15).look.recent("train/kl") == [0.0]
    assert fed([0.0]).look.recent("train/value/mean") == []


def test_the_median_is_of_the_values_before_the_last_check() -> None:
    assert fed([1.0] * 10).look.median("train/kl") is None
    assert fed([1.0] * 10 + [50.0]).look.median("train/kl") == 1.0
    assert fed([1.0] * 12 + [50.0] * 8, size=128).look.median("train/kl") == 1.0


def test_a_pattern_finds_metrics_that_come_later() -> None:
    monitor = Monitor(
        RunFacts(), [AlertRule("a", "network", "net/dead/*", ("net/dead/*",), "", "", _spike, str)]
    )
    monitor.take({"net/dead/actor": 0.0, "net/dead/inner/part": 0.0})
    assert monitor.look.matching("net/dead/*") == ("net/dead/actor",)
    monitor.take({"net/dead/critic": 0.0})
    assert monitor.look.matching("net/dead/*") == ("net/dead/actor", "net/dead/critic")


def test_advice_moves_a_setting_within_its_bounds_and_never_to_where_it_is() -> None:
    look = Look(RunFacts({"algo.lr": 10, "algo.n_epochs": 1, "policy.popart": True}))
    assert look.lower("algo.lr", 0.3, at_most=1e-3) == "algo.lr is 10: try 0.001"
    assert look.lower("algo.n_epochs", 0.5) == ""
    assert look.raise_("algo.n_epochs", 2.0) == "algo.n_epochs is 1: try 2"
    low = Look(RunFacts({"algo.lr": 1e-7}))
    assert low.raise_("algo.lr", 10.0, at_least=1e-4) == "algo.lr is 1e-07: try 0.0001"
    assert look.facts.switch("policy.popart", True) == ""
    assert either("", look.facts.switch("policy.popart", False), "") == "policy.popart is true: try false"


def test_advice_starts_from_what_the_config_says_and_else_from_the_first_value() -> None:
    """CleanRL has lowered its rate a little before it first logs it."""
    known, schedule, unknown = ({"algo.lr": 0.3}, {"algo.lr": [[0, 0.3], [1, 0]]}, {})
    said = []
    for settings in (known, schedule, unknown):
        monitor = Monitor(RunFacts(settings))
        for number in range(1, 4):
            monitor.take({"time/env_steps": number, "opt/lr": 0.3 - 0.01 * number})
        said.append((monitor.look.setting("algo.lr"), monitor.look.setting("algo.n_epochs")))
    assert said == [(0.3, None), (pytest.approx(0.29), None), (pytest.approx(0.29), None)]


def test_a_run_that_diverges_leaves_its_alert_whenever_it_was_checked_last() -> None:
    monitor = Monitor(RunFacts({"algo.lr": 0.3}, rollout_steps=16))
    for number in range(1, 31):  # far from the next check
        monitor.take({"time/env_steps": 16 * number, "train/loss/total": 0.1, "opt/lr": 0.3})
    monitor.diverged(480, {"train/loss/total": math.nan, "opt/lr": 0.3})
    (alert,) = [alert for alert in monitor.raised() if alert.id == "nan"]
    assert (alert.severity, alert.first_step, alert.count) == ("critical", 480, 1)
    assert alert.message == "train/loss/total is NaN"
    assert "algo.lr is 0.3: try 0.001" in alert.advice
