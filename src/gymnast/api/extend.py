"""Base classes for sinks and hooks of your own, and what they are given: pass one to `train`, or name it in a
config."""

from __future__ import annotations

from gymnast.metrics.sinks.console import RunHeader
from gymnast.metrics.sinks.sink import Sink
from gymnast.rollout.source import Episode
from gymnast.training.hooks import Adjust, Command, Hook, Stop
from gymnast.training.report import Report
from gymnast.training.run.outcome import Outcome

__all__ = ["Adjust", "Command", "Episode", "Hook", "Outcome", "Report", "RunHeader", "Sink", "Stop"]
