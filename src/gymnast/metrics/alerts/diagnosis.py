"""A diagnosis: what the rules found in recorded metrics, and what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnast.metrics.alerts.alert import SEVERITIES, Alert
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.monitor import Monitor


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Alerts by id, each with the worst that was seen of it."""

    source: str  # the run's folder or the file
    made_by: str  # "Gymnast", "Stable-Baselines3" or "CleanRL"
    updates: int  # rows that were looked at
    env_steps: int
    alerts: tuple[Alert, ...]
    notes: tuple[str, ...] = field(default=())  # what could not be read, or had to be assumed

    def counts(self) -> str:
        """'2 critical, 3 warnings, 1 info'; empty without alerts."""
        found = Counter(alert.severity for alert in self.alerts)
        return ", ".join(
            f"{found[severity]} {severity}{'s' if severity == 'warning' and found[severity] > 1 else ''}"
            for severity in reversed(SEVERITIES)
            if found[severity]
        )

    def to_json(self) -> dict[str, Any]:
        """What `gymnast diagnose --json` prints."""
        return {
            "source": self.source,
            "made_by": self.made_by,
            "updates": self.updates,
            "env_steps": self.env_steps,
            "alerts": [alert.to_json() for alert in self.alerts],
            "notes": list(self.notes),
        }


def replay(rows: Iterable[Mapping[str, Any]], facts: RunFacts) -> Monitor:
    """What the monitor of the run itself came to, or would have."""
    monitor = Monitor(facts)
    for row in rows:
        monitor.take(row)
    return monitor
