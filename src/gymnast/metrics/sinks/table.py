"""The sinks that a run can have by name. A new one is a class in a file beside this one, and a line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gymnast.config.plugins import PluginConfig, build_plugin
from gymnast.errors import GymnastError, did_you_mean
from gymnast.metrics.sinks.distributions_file import DistributionsFile
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.metrics.sinks.sink import Sink
from gymnast.metrics.sinks.trackers.settings import TRACKERS, TrackerSettings, check_tracker, refuse_dead

if TYPE_CHECKING:
    from gymnast.runs.store import RunFolder


def _tracker(run: RunFolder, name: str, settings: TrackerSettings) -> Sink:
    from gymnast.metrics.sinks.trackers.tracker import Tracker

    return Tracker(run, name, settings)


SINKS: dict[str, Callable[..., Sink]] = {
    "metrics": lambda run: Recorder(run.metrics_path),
    "distributions": lambda run: DistributionsFile(run.distributions_path),
    **{name: partial(_tracker, name=name) for name in TRACKERS},
}
ALWAYS = ("metrics", "distributions")  # whatever the config says

SinkBuilder = Callable[["RunFolder"], Sink]


def prepare_sinks(wanted: tuple[PluginConfig, ...]) -> list[SinkBuilder]:
    """How to build the sinks that every run has, then those of the `sinks` section, once there is a folder.
    What is wrong with the section is found now, before there is one."""
    builders: list[SinkBuilder] = [SINKS[name] for name in ALWAYS]
    for plugin in wanted:
        refuse_dead(plugin.name)
        if plugin.name in TRACKERS:
            settings = check_tracker(plugin.name, plugin.resolved_arguments)
            builders.append(partial(SINKS[plugin.name], settings=settings))
            continue
        if plugin.name not in SINKS:
            builders.append(partial(_as_it_is, build_plugin(plugin, Sink, "sinks", SINKS)))
            continue
        _check_arguments(plugin)
        if plugin.name not in ALWAYS:
            builders.append(partial(SINKS[plugin.name], **plugin.resolved_arguments))
    return builders


def _check_arguments(plugin: PluginConfig) -> None:
    """Raise GymnastError for an argument that a sink of ours does not take, or lacks."""
    signature = inspect.signature(SINKS[plugin.name])
    names = [name for name in signature.parameters if name != "run"]
    for name in plugin.arguments:
        if name not in names:
            there = f"it takes {', '.join(names)}" if names else "it takes no arguments"
            raise GymnastError(
                f"sinks: {plugin.name} has no argument '{name}'{did_you_mean(name, names)}; {there}"
            )
    try:
        signature.bind(None, **plugin.arguments)
    except TypeError as error:
        raise GymnastError(f"sinks: {plugin.name}: {error}") from error


def _as_it_is(sink: Sink, _run: RunFolder) -> Sink:
    return sink
