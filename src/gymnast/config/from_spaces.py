"""Sensible settings for an environment that has no preset, chosen from its spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gymnast.algorithms.table import ALGORITHMS, DEFAULT_ALGO

# What an env may need to be built at all, or what changes its spaces; the rest is checked later.
_BUILDING = ("kwargs", "wrappers", "max_episode_steps")


def defaults_for(
    env_id: str, given: Mapping[str, Any] | None = None, algo: str = DEFAULT_ALGO
) -> dict[str, Any]:
    """The settings to start from; `given` is what the user sets of the env.

    Raises GymnastError for an env that cannot be built.
    """
    import gymnasium as gym

    from gymnast.envs.contract import close_env
    from gymnast.envs.settings import EnvConfig
    from gymnast.envs.single import make_env
    from gymnast.spaces.action_form import ActionForm, why_not_supported

    settings = {key: value for key, value in (given or {}).items() if key in _BUILDING}
    try:
        env_config = EnvConfig.model_validate({"id": env_id, **settings})
    except ValidationError:
        env_config = EnvConfig(id=env_id)  # validating the whole config reports what is wrong with it
    env = make_env(env_config)
    observations, actions = env.observation_space, env.action_space
    close_env(env.close, env_id)
    suits = ALGORITHMS[algo].without_preset
    config: dict[str, Any] = {
        "env": {"id": env_id, "n_envs": 8} | suits.get("env", {}),
        # The scale of an unknown reward may be anything.
        "algo": {"name": algo, "normalize_reward": True} | suits.get("algo", {}),
        "policy": {},
        "budget": {"env_steps": 1_000_000},
    }
    if isinstance(observations, (gym.spaces.Box, gym.spaces.Dict, gym.spaces.Tuple)):
        config["policy"]["normalize_obs"] = "running"  # so may that of its observations; pixels are left out
    elif isinstance(observations, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
        config["policy"]["discrete_obs"] = "one_hot"
    if why_not_supported(actions) is None and ActionForm(actions).n_logits:
        config["algo"]["entropy_coef"] = 0.01  # a Gaussian keeps exploring by its std, a categorical may not
    return config
