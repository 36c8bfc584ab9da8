"""The `play` section: how a person plays an environment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymnast.config.values import Section


class PlayConfig(Section):
    """How `gymnast play` hands the controls to a person; training does not read it."""

    keys: dict[str, str] = Field(
        default_factory=dict,
        description="Keys other than the usual ones, by action, button or axis (`torque-`): {FIRE: x}.",
    )
    turns: Literal["auto", "wait", "real-time"] = Field(
        "auto",
        description="wait: every step waits for a key; auto: where nothing moves by itself, as in toy text.",
    )
