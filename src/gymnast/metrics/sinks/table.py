"""The sinks that a run can have by name. A new one is a class in a file beside this one, and a line here."""

from __future__ import annotations

from collections.abc import Callable
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


def build_sinks(wanted: tuple[PluginConfig, ...], run: RunFolder) -> list[Sink]:
    """The sinks that every run has, then those of the `sinks` section."""
    always = [SINKS[name](run) for name in ALWAYS]
    return always + [
        SINKS[plugin.name](run, **plugin.arguments)
        if plugin.name in SINKS
        else build_plugin(plugin, Sink, "sinks", SINKS)
        for plugin in wanted
        if plugin.name not in ALWAYS
    ]
