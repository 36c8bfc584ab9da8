"""The sinks that a run can have by name. A new one is a class in a file beside this one, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gymnast.config.plugins import PluginConfig, build_plugin
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.metrics.sinks.sink import Sink

if TYPE_CHECKING:
    from gymnast.runs.store import RunFolder

SINKS: dict[str, Callable[..., Sink]] = {
    "metrics": lambda run: Recorder(run.metrics_path),
}
ALWAYS = ("metrics",)  # whatever the config says

SinkBuilder = Callable[["RunFolder"], Sink]


def prepare_sinks(wanted: tuple[PluginConfig, ...]) -> list[SinkBuilder]:
    """How to build the sinks that every run has, then those of the `sinks` section, once there is a folder.
    What is wrong with the section is found now, before there is one."""
    builders: list[SinkBuilder] = [SINKS[name] for name in ALWAYS]
    for plugin in wanted:
        if plugin.name in SINKS and plugin.name not in ALWAYS:
            builders.append(partial(SINKS[plugin.name], **plugin.arguments))
        elif plugin.name not in SINKS:
            builders.append(partial(_as_it_is, build_plugin(plugin, Sink, "sinks", SINKS)))
    return builders


def _as_it_is(sink: Sink, _run: RunFolder) -> Sink:
    return sink
