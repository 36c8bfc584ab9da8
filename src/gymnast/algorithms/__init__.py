"""The algorithms, by the name that `algo.name` gives. A new one is a file and a line here."""

from __future__ import annotations

from gymnast.algorithms.ppo import PPOConfig

ALGORITHMS = {"ppo": PPOConfig}
