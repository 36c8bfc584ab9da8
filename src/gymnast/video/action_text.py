"""An action in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.policies.action_form import ActionForm


def action_text(space: gym.Space[Any], labels: Sequence[str], action: Any) -> str:
    """A choice by its label; buttons that are pressed; numbers by name. `action` is flat, as the envs'
    contract takes it."""
    if isinstance(space, gym.spaces.Discrete):
        return labels[int(action)] if len(labels) == space.n else f"action {int(action)}"
    sizes = ActionForm(space).sizes
    values = np.ravel(action).tolist()
    names = labels if len(labels) == len(values) else [f"action {index}" for index in range(len(values))]
    if all(size == 2 for size in sizes):
        return "+".join(name for name, pressed in zip(names, values, strict=True) if pressed) or "nothing"
    plain = all(name.startswith("action ") for name in names)  # numbers are easier to read without
    said = [f"{value:+.2f}" if size == 0 else f"{value:g}" for value, size in zip(values, sizes, strict=True)]
    return "  ".join(said if plain else [f"{name} {word}" for name, word in zip(names, said, strict=True)])
