"""What the doctor finds: one line for each thing it looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["ok", "info", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of an env or a wrapper, and how it came out."""

    check: str  # what was looked at: `determinism`, `bounds` …
    status: Status
    message: str  # what was found, in one line
    advice: str = ""  # what to change, where something should be

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One probe, trained, and what came of it."""

    probe: str  # the kind of `envs/families/probe.py`
    status: Status  # ok, failed or skipped
    expected: str
    got: str
    reason: str = ""  # where it is broken if it failed; why it was skipped
    updates: int = 0
    seconds: float = 0.0
    actions: str = "discrete"  # the kind of space that it was tried with

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"seconds": round(self.seconds, 2)}
