"""Older names of environments: still accepted, said once."""

from __future__ import annotations

import logging
import re

logger = logging.getLogger("gymnast")

ALIASES: dict[str, str] = {
    "Taxi-v1": "Taxi-v4",
    "Taxi-v2": "Taxi-v4",
    "Taxi-v3": "Taxi-v4",
    "CliffWalking-v0": "CliffWalking-v1",
    "CliffWalkingSlippery-v0": "CliffWalkingSlippery-v1",
    "FrozenLake-v0": "FrozenLake-v1",
    "FrozenLake8x8-v0": "FrozenLake8x8-v1",
    "Blackjack-v0": "Blackjack-v1",
    "Pendulum-v0": "Pendulum-v1",
    "Acrobot-v0": "Acrobot-v1",
    "LunarLander-v1": "LunarLander-v3",
    "LunarLander-v2": "LunarLander-v3",
    "LunarLanderContinuous-v1": "LunarLanderContinuous-v3",
    "LunarLanderContinuous-v2": "LunarLanderContinuous-v3",
    "BipedalWalker-v2": "BipedalWalker-v3",
    "BipedalWalkerHardcore-v2": "BipedalWalkerHardcore-v3",
    "CarRacing-v0": "CarRacing-v3",
    "CarRacing-v1": "CarRacing-v3",
    "CarRacing-v2": "CarRacing-v3",
}

_said: set[str] = set()


def current_id(env_id: str) -> str:
    """The id as it is registered today; the change of name is logged once per process."""
    current = ALIASES.get(env_id)
    if current is None:
        # stable-retro appends a version to every game, and there is no other.
        return re.sub(r"-v\d+$", "", env_id) if env_id.startswith("Retro/") else env_id
    if env_id not in _said:
        _said.add(env_id)
        logger.warning("%s is now called %s; using that", env_id, current)
    return current
