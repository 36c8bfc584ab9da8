"""The hooks that a config can ask for. A new one is a class in a file of its own, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gymnast.config.plugins import build_plugin
from gymnast.errors import GymnastError
from gymnast.metrics import catalogue
from gymnast.training.hooks import Hook
from gymnast.training.interventions import PlateauHook

if TYPE_CHECKING:
    from gymnast.config.schema import Config

# Each builds its hook from the config, or None if the config does not ask for it.
HOOKS: tuple[Callable[[Config], Hook | None], ...] = (
    lambda config: PlateauHook(config.interventions) if config.interventions else None,
)


def build_hooks(config: Config, own: Sequence[Hook] = ()) -> tuple[Hook, ...]:
    """The hooks that the config names by import path, those passed in, then those of its sections."""
    built = [build_plugin(plugin, Hook, "hooks") for plugin in config.hooks]
    built += own
    built += [
        hook for build in HOOKS if (hook := build(config)) is not None
    ]  # rules may watch others' metrics
    names = [hook.name for hook in built]
    for name in names:
        if names.count(name) > 1:
            raise GymnastError(
                f"hooks: two hooks have the name '{name}', under which checkpoints keep their state"
            )
    for hook in built:
        if hook.METRICS:
            catalogue.declare(hook.METRICS)
    return tuple(built)
