"""All rules together: whatever numbers come, none of them fails, and what they read exists."""

from __future__ import annotations

import math
from random import Random

import pytest

from gymnast.metrics import catalogue
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.metrics.alerts.table import all_rules

KEYS = sorted({key.replace("*", "actor") for rule in all_rules() for key in rule.reads})
NUMBERS = [0.0, 1.0, 1e99, -1e99, -1.0, 0.5, 1e-9, 3.0, 200.0, 1e308, -1e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("known", [True, False])
def test_no_rule_fails_on_any_numbers(known: bool) -> None:
    facts = {"algo.lr": 3e-4, "algo.n_epochs": 4} if known else {}
    random, raised = Random(1), set()
    for _ in range(40):
        monitor = Monitor(RunFacts(facts, rollout_steps=512 if known else None))
        usual = {key: random.choice(NUMBERS) for key in KEYS}
        for number in range(1, 41):
            odd = {key: random.choice(NUMBERS) for key in random.sample(KEYS, 3)}
            row = {"time/env_steps": 512 * number, "time/progress": number / 40, "train/return/mean": 1.0}
            monitor.take(usual | odd | row)
        raised |= {alert.id for alert in monitor.raised() if alert.message}
    assert len(raised) > 20  # it was no empty exercise


def test_rules_read_metrics_that_exist() -> None:
    known = {metric.key for metric in catalogue.all_metrics()}
    for rule in all_rules():
        assert {rule.metric, *rule.reads} <= known, rule.id
