"""Registers the scenarios with Gymnasium."""

from __future__ import annotations

import gymnasium as gym

from gymnast.envs.families.doom.scenarios import SCENARIOS

for _env_id in SCENARIOS:
    if _env_id not in gym.registry:
        gym.register(
            _env_id, entry_point="gymnast.envs.families.doom.env:DoomEnv", kwargs={"scenario": _env_id}
        )
