"""Registers every game with Gymnasium as `Retro/<Game>`; building one shows whether its ROM is there."""

from __future__ import annotations

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from gymnast.envs.families.retro.library import PREFIX, games


def register_games() -> None:
    # Straight into the registry: `gym.register` compares each with all others, a second for a thousand.
    for name in games():
        spec = EnvSpec(
            PREFIX + name, entry_point="gymnast.envs.families.retro.game:RetroGame", kwargs={"game": name}
        )
        gym.registry.setdefault(spec.id, spec)


register_games()
