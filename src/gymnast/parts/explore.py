"""The exploration bonuses, by the name that `explore.name` gives. A new one is a file and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union

from pydantic import BeforeValidator, Field

from gymnast.parts.bonus import Bonus, Coverage
from gymnast.parts.count import Count
from gymnast.parts.noveld import NovelD
from gymnast.parts.part import Part, PartContext
from gymnast.parts.rnd import RND

if TYPE_CHECKING:
    from gymnast.config.schema import Config

BONUSES: dict[str, type[Coverage] | type[Bonus]] = {
    "none": Coverage,
    "count": Count,
    "rnd": RND,
    "noveld": NovelD,
}


def _named(value: Any) -> Any:
    """`explore: count` is short for `explore: {name: count}`; a map without a name has no bonus."""
    if isinstance(value, str):
        return {"name": value}
    return {"name": "none", **value} if isinstance(value, dict) else value


if TYPE_CHECKING:
    ExploreConfig: TypeAlias = Any
else:  # a type checker cannot read a union that is made from a table
    ExploreConfig = Annotated[
        Union[tuple(bonus.Settings for bonus in BONUSES.values())],  # noqa: UP007
        Field(discriminator="name"),
        BeforeValidator(_named),
    ]


class Exploration(Part):
    """Builds the part that the `explore` section names."""

    @classmethod
    def build(cls, context: PartContext) -> Part | None:
        return BONUSES[context.config.explore.name].build(context)

    @classmethod
    def value_heads(cls, config: Config) -> tuple[str, ...]:
        return BONUSES[config.explore.name].value_heads(config)
