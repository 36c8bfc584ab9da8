"""RL Zoo's PPO settings as Stable-Baselines3 takes them, for the tasks that both sides are compared on.

The Zoo names older versions of some tasks; its settings are used for the present ones. What it leaves out is
SB3's default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import nn


def linear(start: float) -> Callable[[float], float]:
    """From `start` to 0 over the budget."""
    return lambda remaining: start * remaining


@dataclass(frozen=True)
class Zoo:
    """One task's settings."""

    settings: dict[str, Any]
    n_envs: int = 1
    normalize: bool = False  # observations and rewards
    policy: dict[str, Any] = field(default_factory=dict)


_MUJOCO_POLICY = {
    "log_std_init": -2,
    "ortho_init": False,
    "activation_fn": nn.ReLU,
    "net_arch": {"pi": [256, 256], "vf": [256, 256]},
}
_LUNARLANDER = Zoo(
    {"n_steps": 1024, "batch_size": 64, "n_epochs": 4, "gamma": 0.999, "gae_lambda": 0.98, "ent_coef": 0.01},
    n_envs=16,
)
SETTINGS = {
    "CartPole-v1": Zoo(
        {
            "n_steps": 32,
            "batch_size": 256,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "learning_rate": linear(1e-3),
            "clip_range": linear(0.2),
        },
        n_envs=8,
    ),
    "Acrobot-v1": Zoo({"n_steps": 256, "n_epochs": 4, "gae_lambda": 0.94}, n_envs=16, normalize=True),
    "MountainCar-v0": Zoo({"n_steps": 16, "n_epochs": 4, "gae_lambda": 0.98}, n_envs=16, normalize=True),
    "Pendulum-v1": Zoo(
        {
            "n_steps": 1024,
            "n_epochs": 10,
            "gamma": 0.9,
            "gae_lambda": 0.95,
            "learning_rate": 1e-3,
            "use_sde": True,
            "sde_sample_freq": 4,
        },
        n_envs=4,
    ),
    "LunarLander-v3": _LUNARLANDER,
    "LunarLanderContinuous-v3": _LUNARLANDER,
    "BipedalWalker-v3": Zoo(
        {
            "n_steps": 2048,
            "batch_size": 64,
            "n_epochs": 10,
            "gamma": 0.999,
            "learning_rate": 3e-4,
            "clip_range": 0.18,
        },
        n_envs=32,
        normalize=True,
    ),
    "HalfCheetah-v5": Zoo(
        {
            "n_steps": 512,
            "batch_size": 64,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.92,
            "learning_rate": 2.0633e-05,
            "ent_coef": 0.000401762,
            "clip_range": 0.1,
            "max_grad_norm": 0.8,
            "vf_coef": 0.58096,
        },
        normalize=True,
        policy=_MUJOCO_POLICY,
    ),
    "Hopper-v5": Zoo(
        {
            "n_steps": 512,
            "batch_size": 32,
            "n_epochs": 5,
            "gamma": 0.999,
            "gae_lambda": 0.99,
            "learning_rate": 9.80828e-05,
            "ent_coef": 0.00229519,
            "clip_range": 0.2,
            "max_grad_norm": 0.7,
            "vf_coef": 0.835671,
        },
        normalize=True,
        policy=_MUJOCO_POLICY,
    ),
}


def ppo(env_id: str, seed: int) -> PPO:
    """PPO with the Zoo's settings, ready to learn."""
    task = SETTINGS[env_id]
    envs: VecEnv = make_vec_env(env_id, n_envs=task.n_envs, seed=seed)
    if task.normalize:
        envs = VecNormalize(envs, gamma=task.settings.get("gamma", 0.99))
    return PPO("MlpPolicy", envs, policy_kwargs=task.policy, seed=seed, device="cpu", **task.settings)
