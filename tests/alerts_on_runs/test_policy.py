"""Every rule about the policy, its critic and its network is raised by a run that has the disease, and
healthy runs are left alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from alerts_on_runs.sick_policy import RECORDED, RUNS, SICK
from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import RunFailed
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.metrics.alerts.table import all_rules

Raised = Callable[[str], dict[str, Alert]]
GROUPS = ("policy update", "exploration", "critic", "network")
_NAMED = re.compile(r"(?:try )?([a-z_]+(?:\.[a-z_]+)*)(?: is [^:]*: try)? (\S+)")


@pytest.fixture(scope="module")
def raised(tmp_path_factory: pytest.TempPathFactory) -> Raised:
    """Each run is trained once, for all rules that it serves."""
    root = tmp_path_factory.mktemp("sick")

    @cache
    def of(name: str) -> dict[str, Alert]:
        if name in RECORDED:
            monitor = Monitor(RunFacts({"device": "auto"}))
            for row in RECORDED[name]:
                monitor.take(row)
            return {alert.id: alert for alert in monitor.raised()}
        sick, folder = RUNS[name], root / name.replace(" ", "-")
        if name == "rewards overflow":
            with pytest.raises(RunFailed, match="NaN or infinite"):
                api.train(sick.env, overrides=sick.overrides(), max_env_steps=sick.steps, runs_dir=folder)
        else:
            api.train(sick.env, overrides=sick.overrides(), max_env_steps=sick.steps, runs_dir=folder)
        (file,) = folder.glob("*/alerts.json")
        alerts = [Alert(**alert) for alert in json.loads(file.read_text())["alerts"]]
        return {alert.id: alert for alert in alerts}

    return of


@pytest.mark.parametrize("id_", SICK)
def test_a_sick_run_raises_its_alert_with_advice_that_can_be_followed(id_: str, raised: Raised) -> None:
    name, severity = SICK[id_]
    found = raised(name)
    assert id_ in found, sorted(found)
    alert = found[id_]
    assert alert.severity == severity
    assert len(alert.message) <= 80
    pieces = [piece for piece in alert.advice.split("; ") if "try " in piece]
    assert pieces, alert.advice
    for piece in pieces:
        matched = _NAMED.fullmatch(piece)
        assert matched, piece
        load_config("CartPole-v1:ppo", [f"{matched[1]}={matched[2]}"])


def test_every_rule_of_these_groups_has_a_sick_run() -> None:
    assert set(SICK) == {rule.id for rule in all_rules() if rule.group in GROUPS}


@pytest.mark.parametrize("preset", ["CartPole-v1:ppo", "CartPole-v1:a2c", "CartPole-v1:reinforce"])
def test_a_healthy_run_raises_no_warning(preset: str, tmp_path: Any) -> None:
    run = api.train(preset, runs_dir=tmp_path)
    alerts = json.loads(run.folder.alerts_path.read_text())["alerts"]
    own = {rule.id for rule in all_rules() if rule.group in GROUPS}
    assert [alert for alert in alerts if alert["severity"] != "info" and alert["id"] in own] == []
