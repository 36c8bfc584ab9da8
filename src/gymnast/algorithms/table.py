"""The algorithms, by the name that `algo.name` gives. A new one is a file and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnast.algorithms.a2c import A2C
from gymnast.algorithms.ppo import PPO
from gymnast.algorithms.reinforce import Reinforce

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Algorithm

# The config's `algo` section, its docs, variants without a preset and the learning tests follow from this.
ALGORITHMS: dict[str, type[Algorithm]] = {
    "ppo": PPO,
    "a2c": A2C,
    "reinforce": Reinforce,
}
DEFAULT_ALGO = "ppo"  # what an `algo` map without a name means


def build_algorithm(config: Any) -> Algorithm:
    """The algorithm of an `algo` section."""
    return ALGORITHMS[config.name](config)
