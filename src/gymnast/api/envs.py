"""Environments and wrappers: what there is to train, and what can be put around it."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import Any

from gymnast.api.arguments import Folders, folders
from gymnast.config import catalogue
from gymnast.config.catalogue import Entry as EnvEntry
from gymnast.errors import GymnastError, did_you_mean

__all__ = [
    "EnvEntry",
    "Wrapper",
    "WrapperArgument",
    "families_not_installed",
    "list_envs",
    "list_wrappers",
]


@dataclass(frozen=True, slots=True)
class WrapperArgument:
    """One argument that a config may set."""

    name: str
    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A wrapper that a config can name."""

    name: str
    help: str  # the first paragraph of `doc`, on one line
    doc: str
    arguments: tuple[WrapperArgument, ...]
    training_only: bool  # left out of evaluation

    def to_json(self) -> dict[str, Any]:
        """What `gymnast wrappers --json` prints of it."""
        return {
            "name": self.name,
            "help": self.help,
            "doc": self.doc,
            "arguments": {a.name: {"required": a.required, "default": a.default} for a in self.arguments},
            "training_only": self.training_only,
        }


def list_envs(text: str = "", *, every: bool = False, config_dirs: Folders = ()) -> list[EnvEntry]:
    """Environments that have a config, best match first; with `every`, or if none matches, also those
    without one."""
    listed = catalogue.entries(folders(config_dirs))
    found = catalogue.search(text, listed)
    if every or (text and not found):
        known = [*(entry.name for entry in listed), *(entry.env_id for entry in listed)]
        found += catalogue.search(text, catalogue.registered_entries(known))
    return found


def families_not_installed() -> dict[str, str]:
    """Families of environments that could be installed: name → the extra that brings it."""
    return catalogue.not_installed()


def list_wrappers(text: str | None = None) -> list[Wrapper]:
    """Every wrapper by name; with `text` the one of that name, else those that mention it."""
    from gymnast.envs.wrappers import WRAPPERS

    everything = [_describe(name) for name in sorted(WRAPPERS)]
    if text is None:
        return everything
    mentioned = [w for w in everything if text.lower() in json.dumps(w.to_json()).lower()]
    found = [wrapper for wrapper in everything if wrapper.name == text] or mentioned
    if not found:
        raise GymnastError(f"no wrapper mentions {text!r}{did_you_mean(text, [w.name for w in everything])}")
    return found


def _describe(name: str) -> Wrapper:
    from gymnast.envs.wrappers import is_training_only, wrapper_arguments, wrapper_class

    wrapper = wrapper_class(name)
    doc = inspect.getdoc(wrapper) or ""
    arguments = tuple(
        WrapperArgument(argument.name, required=True)
        if argument.default is argument.empty
        else WrapperArgument(argument.name, required=False, default=argument.default)
        for argument in wrapper_arguments(wrapper).values()
    )
    return Wrapper(name, doc.split("\n\n")[0].replace("\n", " "), doc, arguments, is_training_only(wrapper))
