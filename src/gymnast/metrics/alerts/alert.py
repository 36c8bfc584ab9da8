"""A health alert: what a rule has found in a run's metrics, and what to change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")  # the later the worse


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule's finding. `count` is how often it was seen, between `first_step` and `last_step`."""

    id: str  # "kl.high"; its page in the docs is docs/alerts/kl.high.md
    severity: Severity  # the worst that was seen
    metric: str  # the metric that it is about, by its key in metrics.csv
    message: str  # what is seen, with its numbers: "KL is 0.31 (mean of 5 updates), above 0.05"
    advice: str  # what to change, with a value: "algo.lr is 0.3: try 0.001"
    count: int = 1
    first_step: int = 0  # env steps
    last_step: int = 0

    def to_json(self) -> dict[str, Any]:
        """What `gymnast diagnose --json` prints for it."""
        return asdict(self)
