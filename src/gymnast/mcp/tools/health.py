"""Tools that say what is wrong with a run, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gymnast import api
from gymnast.errors import GymnastError, cut
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import READS, tool
from gymnast.mcp.tools.configs import Detail
from gymnast.mcp.tools.training import RunName
from gymnast.metrics.alerts.alert import SEVERITIES
from gymnast.runs.store import RunFolder


@dataclass
class FoundAlert:
    id: str
    severity: str
    metric: str
    message: str
    advice: str
    count: int
    steps: list[int]  # first and last seen
    means: str  # full only


@dataclass
class Diagnosed:
    run: str
    state: str
    outcome: str
    summary: str
    alerts: list[FoundAlert]  # the worst first
    notes: list[str]


@dataclass
class Change:
    alert: str
    severity: str
    seen: str
    advice: str
    override: str  # for start_training; empty if the advice is not a setting


@dataclass
class Proposal:
    overrides: dict[str, Any]  # for start_training
    why: str


@dataclass
class Changes:
    run: str
    changes: list[Change]
    tuner: list[Proposal]  # the first round of `gymnast tune`, which reads curves as well
    start: dict[str, Any]  # arguments of start_training that try the first of them
    note: str


class HealthTools:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(READS)
    def diagnose_run(self, run: RunName, detail: Detail = "brief") -> Diagnosed:
        """What is wrong with a run: alerts of some fifty rules over its metrics, the worst first, each with
        advice that names a setting and a value. full adds what each alert means. No alerts and a poor score:
        look at get_metrics, or give it more steps."""
        folder = self._serving.run(run)
        found, report = api.diagnose_folder(folder), api.read_report(folder)
        meanings = {rule.id: rule.means for rule in api.list_rules()}
        alerts = sorted(found.alerts, key=lambda alert: (-SEVERITIES.index(alert.severity), -alert.count))
        return Diagnosed(
            run=folder.id,
            state=api.run_state(folder).state,
            outcome=cut(report.outcome, 400),
            summary=found.counts() or "no alerts",
            alerts=[
                FoundAlert(
                    id=alert.id,
                    severity=alert.severity,
                    metric=alert.metric,
                    message=cut(alert.message, 300),
                    advice=cut(alert.advice, 400),
                    count=alert.count,
                    steps=[alert.first_step, alert.last_step],
                    means=meanings.get(alert.id, "") if detail == "full" else "",
                )
                for alert in alerts[:30]
            ],
            notes=[cut(note, 300) for note in found.notes],
        )

    @tool(READS)
    def suggest_changes(self, run: RunName) -> Changes:
        """Settings to try next: the advice of the run's alerts as overrides that load, the worst alert first,
        and what the tuner would try. One change at a time, with several seeds; then compare_runs with the
        run."""
        serving = self._serving
        folder = serving.run(run)
        found = api.suggest_changes(folder, trust=serving.trust)
        tuner = _first_round(folder, serving)
        first: list[str] | dict[str, Any] = [one.override for one in found if one.override][:1]
        first = first or (tuner[0].overrides if tuner else [])
        start: dict[str, Any] = {"like_run": folder.id, "overrides": first} if first else {}
        return Changes(
            run=folder.id,
            changes=[
                Change(one.alert, one.severity, cut(one.seen, 300), cut(one.advice, 300), one.override)
                for one in found[:20]
            ],
            tuner=tuner,
            start=start,
            note="" if found or tuner else "no alerts: nothing in its metrics asks for a change",
        )


def _first_round(folder: RunFolder, serving: Serving) -> list[Proposal]:
    """None for a run that the tuner cannot work on: made elsewhere, without metrics, several tasks …"""
    try:
        advice = api.tuning_advice(
            folder.id, runs_dir=serving.runs_dir, config_dirs=serving.config_dirs
        ).to_json()
    except GymnastError:
        return []
    return [
        Proposal(dict(one["changes"]), cut(f"{one['arm'] or one['source']}: {one['why']}", 300))
        for one in advice["proposals"][:6]
    ]
