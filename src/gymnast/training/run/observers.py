"""Who watches a training and may ask something of it, handed in by whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gymnast.metrics.sinks.console import Console, QuietConsole
from gymnast.metrics.sinks.sink import Sink
from gymnast.training.hooks import Hook
from gymnast.training.requests import AnyOf, Requests


@dataclass(frozen=True, slots=True)
class Observers:
    """The console shows progress within an update too; sinks get a report per update; hooks may command."""

    console: Console = field(default_factory=QuietConsole)
    requests: Requests = field(default_factory=AnyOf)
    sinks: tuple[Sink, ...] = ()
    hooks: tuple[Hook, ...] = ()
