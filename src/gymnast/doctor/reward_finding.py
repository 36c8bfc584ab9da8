"""The size of the rewards that random actions get, and what it means for learning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.doctor.finding import Finding

_LARGE, _SMALL = 100.0, 0.01


def reward_finding(rewards: Sequence[float], *, normalized: bool = False) -> Finding:
    """In one line; `gymnast audit` looks closer. Where learning normalises them, their size does no harm."""
    values = np.asarray(rewards, np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Finding("rewards", "failed", "no reward is a finite number")
    largest = float(np.abs(finite).max())
    if largest == 0:
        return Finding(
            "rewards",
            "warning",
            f"none in {finite.size:,} random steps",
            "if chance never meets one, explore.name=rnd helps; gymnast audit looks closer",
        )
    mean, std = float(finite.mean()), float(finite.std())
    text = f"mean {mean:.3g}, std {std:.3g}, largest |r| {largest:.3g}"
    if std == 0:
        return Finding("rewards", "ok", f"always {mean:.3g}: only the length of an episode matters")
    if normalized:
        return Finding("rewards", "ok", f"{text}, normalised for learning")
    if largest > _LARGE:
        return Finding("rewards", "warning", text, "large rewards: set algo.normalize_reward=true")
    if largest < _SMALL:
        return Finding("rewards", "warning", text, "tiny rewards: set algo.normalize_reward=true")
    return Finding("rewards", "ok", text)
