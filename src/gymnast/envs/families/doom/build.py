"""From the `env` section to one game of Doom, as training or evaluation plays it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from gymnast.envs.families.doom.env import DoomEnv
from gymnast.envs.settings import EnvConfig


def build_game(config: EnvConfig, *, training: bool, render_mode: str | None) -> gym.Env[Any, Any]:
    """The game of `config.id`; evaluation counts the scenario's own reward alone."""
    env: gym.Env[Any, Any] = DoomEnv(
        config.id,
        config.vizdoom,
        state=config.state,
        actions=config.actions,
        action_masks=config.action_masks,
        shaped=training,
        render_mode=render_mode,
        **config.kwargs,
    )
    if config.max_episode_steps is not None:
        env = gym.wrappers.TimeLimit(env, config.max_episode_steps)
    return env
