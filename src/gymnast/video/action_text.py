"""An action in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from gymnast.spaces.action_form import ActionForm

_MOST_NAMED = 3  # more numbers are easier to read without their names


def action_text(space: gym.Space[Any], labels: Sequence[str], action: Any) -> str:
    """A choice by its label; buttons that are pressed; numbers, by name where they have one."""
    form = ActionForm(space)
    values = form.flatten(action).tolist()
    if isinstance(space, gym.spaces.Discrete):
        return labels[values[0]] if len(labels) == space.n else f"action {values[0]}"
    names = labels if len(labels) == len(values) else form.labels
    if all(size == 2 for size in form.sizes):
        return "+".join(name for name, pressed in zip(names, values, strict=True) if pressed) or "nothing"
    said = [f"{v:+.2f}" if size == 0 else f"{v:g}" for v, size in zip(values, form.sizes, strict=True)]
    if len(said) > _MOST_NAMED or all(name.startswith("action ") for name in names):
        return "  ".join(said)
    return "  ".join(f"{name} {word}" for name, word in zip(names, said, strict=True))
