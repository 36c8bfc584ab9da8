"""The `observe` section: what is measured beside the learner's own metrics."""

from __future__ import annotations

from pydantic import Field

from gymnast.config.values import Section


class ObserveConfig(Section):
    """Turned off, each saves a little time; what a run learns is the same either way."""

    alerts: bool = Field(True, description="Check the run's health after updates, with advice.")
    distributions: bool = Field(
        True, description="Keep how actions, rewards, values and advantages are distributed over the run."
    )
    network: bool = Field(
        True, description="Measure activations, weights and gradients by part, every few updates."
    )
