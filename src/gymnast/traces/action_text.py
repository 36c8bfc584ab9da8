"""An action in words: by its label, by the buttons pressed, or by its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from gymnast.spaces.action_form import ActionForm

_MOST_NAMED = 3  # more numbers are easier to read without their names


class ActionNames:
    """The names of one action space's factors and choices."""

    def __init__(self, space: gym.Space[Any], labels: Sequence[str]) -> None:
        """`labels` as `EnvSpec.action_labels` has them; where their number does not fit, names are made."""
        self.form = form = ActionForm(space)
        self.discrete = isinstance(space, gym.spaces.Discrete)
        if self.discrete:
            n = form.sizes[0]
            self.factors: tuple[str, ...] = ("action",)
            self.choices = tuple(labels) if len(labels) == n else tuple(f"action {i}" for i in range(n))
            self.numbers: tuple[str, ...] = ()
            return
        self.factors = tuple(labels) if len(labels) == form.n_columns else form.labels
        named = list(zip(self.factors, form.sizes, strict=True))
        self.choices = tuple(f"{name}={choice}" for name, size in named for choice in range(size))
        self.numbers = tuple(name for name, size in named if size == 0)

    def text(self, action: Any) -> str:
        """One element of the space in words."""
        values = self.form.flatten(action).tolist()
        if self.discrete:
            return self.choices[values[0]]
        sizes = self.form.sizes
        if all(size == 2 for size in sizes):
            return (
                "+".join(name for name, pressed in zip(self.factors, values, strict=True) if pressed)
                or "nothing"
            )
        words = [f"{v:+.2f}" if size == 0 else f"{v:g}" for v, size in zip(values, sizes, strict=True)]
        if len(words) > _MOST_NAMED or all(name.startswith("action ") for name in self.factors):
            return "  ".join(words)
        return "  ".join(f"{name} {word}" for name, word in zip(self.factors, words, strict=True))
