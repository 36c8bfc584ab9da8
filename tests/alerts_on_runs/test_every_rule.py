"""Every rule of health was seen to fire on a run that has what it looks for."""

from __future__ import annotations

from alerts_on_runs import sick_environment, sick_policy
from gymnast.metrics.alerts.table import all_rules


def test_every_rule_has_a_sick_run() -> None:
    proved = [*sick_policy.SICK, *sick_environment.SICK]
    assert sorted(proved) == [rule.id for rule in all_rules()]
