"""What a metric is. Each is declared in the file that emits it; `catalogue.py` collects them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric: what it means, how it is shown, and what values it can have at all.

    The key is `stage/group/name`; a component `*` matches any name (parts of the reward, tasks).
    """

    key: str
    help: str
    unit: str = ""
    precision: int = 3  # digits after the point when shown
    low: float | None = None  # a value below is impossible
    high: float | None = None  # a value above is impossible
    better: Literal["higher", "lower"] | None = None
    priority: int = 2  # 0: shown in every view … 3: only in files
