"""Things that a config names, with arguments: by a name of ours, or a class of the user's by import path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ConfigDict, Field, model_validator

from gymnast.config.values import Section, from_environment
from gymnast.errors import GymnastError, did_you_mean
from gymnast.import_path import load_class
from gymnast.redact import redact, redacted

T = TypeVar("T")


class PluginConfig(Section):
    """A name, or an import path `package.module:Class`, with its arguments beside it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(description="A name, or `package.module:Class`.")

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def arguments(self) -> dict[str, Any]:
        """As they are written in the config."""
        return dict(self.model_extra or {})

    @property
    def resolved_arguments(self) -> dict[str, Any]:
        """As its class gets them: with `${NAME}` replaced from the environment."""
        resolved: dict[str, Any] = from_environment(self.arguments, self.name)
        return resolved


def build_plugin(plugin: PluginConfig, base: type[T], section: str, known: Iterable[str] = ()) -> T:
    """The object of the user's own class."""
    if ":" not in plugin.name:
        names = list(known)
        there = f"there are {', '.join(names)}" if names else "there are no names yet"
        raise GymnastError(
            f"{section}: no '{plugin.name}'{did_you_mean(plugin.name, names)}; {there}, "
            "or give a class of your own as package.module:Class"
        )
    made = load_class(plugin.name, base, section)
    try:
        built: T = made(**plugin.resolved_arguments)
    except GymnastError:
        raise
    except (Exception, SystemExit) as error:
        raise GymnastError(
            f"{section}: '{plugin.name}' could not be built with "
            f"{redacted(plugin.arguments) or 'no arguments'}: {type(error).__name__}: {redact(str(error))}"
        ) from error
    return built
