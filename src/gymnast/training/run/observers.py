"""What watches a training and may send it requests or commands, passed in by the caller."""

from __future__ import annotations

from dataclasses import dataclass, field

from gymnast.metrics.sinks.console import Console, QuietConsole
from gymnast.metrics.sinks.sink import Sink
from gymnast.training.hooks import Hook
from gymnast.training.requests import AnyOf, Requests


@dataclass(frozen=True, slots=True)
class Observers:
    """The console shows progress within an update; sinks get a report per update; hooks return commands."""

    console: Console = field(default_factory=QuietConsole)
    requests: Requests = field(default_factory=AnyOf)
    sinks: tuple[Sink, ...] = ()
    hooks: tuple[Hook, ...] = ()
    track: tuple[str, ...] = ()  # trackers beside those of the config, as `--track` has them
