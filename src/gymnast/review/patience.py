"""How long to wait for a model, and how often to ask again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and how often to try."""

    silence: float = 300.0  # seconds without a byte: a model on a CPU reads for minutes before it writes
    total: float = 1800.0  # seconds of one answer
    attempts: int = 4
    first_wait: float = 1.0  # doubled each time, unless the endpoint says how long
    longest_wait: float = 60.0
