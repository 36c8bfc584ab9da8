"""Base classes for sinks and hooks of your own: pass one to `train`, or name it in a config."""

from __future__ import annotations

from gymnast.metrics.sinks.sink import Sink
from gymnast.training.hooks import Adjust, Hook, Stop
from gymnast.training.report import Report

__all__ = ["Adjust", "Hook", "Report", "Sink", "Stop"]
