"""The parts, in the order in which they act. A new one is a file and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnast.parts.explore import Exploration
from gymnast.parts.part import Part, PartContext
from gymnast.parts.popart import PopArtTargets
from gymnast.parts.reward_scale import NormalizedRewards

if TYPE_CHECKING:
    from gymnast.config.schema import Config

PARTS: tuple[type[Part], ...] = (NormalizedRewards, Exploration, PopArtTargets)


def value_heads(config: Config) -> tuple[str, ...]:
    """The value heads of the policy: the return's, then those of further reward streams."""
    return ("value", *(head for part in PARTS for head in part.value_heads(config)))


def build_parts(context: PartContext) -> tuple[Part, ...]:
    """Those that the config asks for."""
    built = (part.build(context) for part in PARTS)
    return tuple(part for part in built if part is not None)
