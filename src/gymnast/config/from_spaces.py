"""Sensible settings for an environment that has no preset, chosen from its spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

# What an env may need to be built at all, or what changes its spaces; the rest is checked later.
_BUILDING = ("kwargs", "wrappers", "max_episode_steps")


def defaults_for(env_id: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings to start from; `given` is what the user says of the env.

    Raises GymnastError for an env that cannot be built.
    """
    import gymnasium as gym

    from gymnast.envs.settings import EnvConfig
    from gymnast.envs.single import make_env

    settings = {key: value for key, value in (given or {}).items() if key in _BUILDING}
    try:
        env_config = EnvConfig.model_validate({"id": env_id, **settings})
    except ValidationError:
        env_config = EnvConfig(id=env_id)  # whoever validates the whole config says what is wrong with it
    env = make_env(env_config)
    observations, actions = env.observation_space, env.action_space
    env.close()
    # Rollouts long enough for one update to see rewards, wide enough to be uncorrelated.
    config: dict[str, Any] = {
        "env": {"id": env_id, "n_envs": 8},
        "algo": {
            "name": "ppo",
            "n_steps": 256,
            "batch_size": 0.125,
            "n_epochs": 10,
            # Decaying the rate to 0 costs nothing early and steadies the end of a run of unknown length.
            "lr": {"kind": "linear", "start": 3e-4, "end": 0},
            "normalize_reward": True,  # the scale of an unknown reward may be anything
        },
        "policy": {},
        "budget": {"env_steps": 1_000_000},
    }
    if isinstance(observations, gym.spaces.Box):
        config["policy"]["normalize_obs"] = "running"  # so may that of its observations
    elif isinstance(observations, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
        config["policy"]["discrete_obs"] = "one_hot"
    if isinstance(actions, (gym.spaces.Discrete, gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)):
        config["algo"]["entropy_coef"] = 0.01  # a Gaussian keeps exploring by its std, a categorical may not
    return config
