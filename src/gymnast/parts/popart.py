"""PopArt as a part: targets are normalised before the update. The head itself is in `policies/popart.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnast.metrics.spec import MetricSpec
from gymnast.parts.part import Part, PartContext

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Hyper
    from gymnast.algorithms.batch import Batch
    from gymnast.policies.popart import PopArt

METRICS = (
    MetricSpec("train/popart/mean", "Running mean of the value targets, which PopArt subtracts.", "", 3),
    MetricSpec("train/popart/std", "Running std of the targets, which PopArt divides by.", "", 3, low=0),
)


class PopArtTargets(Part):
    """Its statistics belong to the policy, which must give real values wherever it is used."""

    name = "popart"

    def __init__(self, popart: PopArt) -> None:
        self.popart = popart

    @classmethod
    def build(cls, context: PartContext) -> PopArtTargets | None:
        from gymnast.algorithms.table import build_algorithm

        popart = context.policy.popart
        learns_values = build_algorithm(context.config.algo).uses_critic
        return None if popart is None or not learns_values else cls(popart)

    def targets(self, batch: Batch, hp: Hyper) -> Batch:
        return self.popart.normalize(batch)

    def metrics(self) -> dict[str, float]:
        return {"train/popart/mean": self.popart.mean, "train/popart/std": self.popart.std}
