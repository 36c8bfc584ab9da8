"""What is known of a run beside its metrics, for gates and for advice that names its own settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_BETWEEN = "; "


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Settings of a run of ours, or the few that are known of a run of another library."""

    settings: Mapping[str, Any] = field(default_factory=dict)  # by dotted key: "algo.lr"
    names: Mapping[str, str] | None = None  # what another library calls a setting of ours
    rollout_steps: int | None = None  # env steps of one rollout, all envs together
    n_envs: int | None = None
    solved_at: float | None = None
    # What to do where another library has no such setting, but another way.
    instead: Mapping[str, str] = field(default_factory=dict)

    def name(self, key: str) -> str | None:
        """What the user calls a setting; None if the library that made this run does not have it."""
        return key if self.names is None else self.names.get(key)

    def number(self, key: str) -> float | None:
        """A setting that is a plain number."""
        value = self.settings.get(key)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def suggest(self, key: str, value: object, now: object = None) -> str:
        """'algo.lr is 0.3: try 0.001'; without a present value 'try algo.lr 0.001'. Empty if the library
        has no such setting. `now` is the value in force, where a schedule moves it."""
        if key in self.instead:
            return self.instead[key]
        name = self.name(key)
        if name is None:
            return ""
        present = now if now is not None else self.settings.get(key)
        tried = _shown(value)
        return f"try {name} {tried}" if present is None else f"{name} is {_shown(present)}: try {tried}"

    def switch(self, key: str, value: object) -> str:
        """As `suggest`, but empty if the setting has this value already."""
        return "" if self.settings.get(key) == value else self.suggest(key, value)


def either(*advice: str) -> str:
    """Several pieces of advice in one line, most promising first; empty ones left out."""
    return _BETWEEN.join(part for part in advice if part)


def pieces(advice: str) -> list[str]:
    """What `either` joined."""
    return advice.split(_BETWEEN)


def nice(value: float) -> float:
    """Rounded to one digit of 1, 2, 3 or 5: a value that a person would try."""
    if value <= 0 or not math.isfinite(value):
        return value
    scale = 10.0 ** math.floor(math.log10(value))
    best = min((1, 2, 3, 5, 10), key=lambda digit: abs(math.log(value / scale / digit)))
    return float(f"{best * scale:.1g}")


def _shown(value: object) -> str:
    """As it is written in a config."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
