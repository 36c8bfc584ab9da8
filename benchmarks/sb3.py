"""Stable-Baselines3's side of each comparison: one measurement in this process, one JSON line out.

It runs at its best: one torch thread for small networks, where it is faster than two, evaluation episodes
stepped together, and the long evaluation only once a short one has passed.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import torch
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

CARTPOLE = "CartPole-v1"
LUNARLANDER = "LunarLander-v3"
PONG = "PongNoFrameskip-v4"


def cartpole(seed: int, **changes: Any) -> PPO:
    """PPO on CartPole with RL Zoo's settings."""
    settings: dict[str, Any] = {
        "n_steps": 32,
        "batch_size": 256,
        "n_epochs": 20,
        "gamma": 0.98,
        "gae_lambda": 0.8,
        "ent_coef": 0.0,
        "learning_rate": lambda remaining: 1e-3 * remaining,
        "clip_range": lambda remaining: 0.2 * remaining,
    }
    envs = make_vec_env(CARTPOLE, n_envs=8, seed=seed)
    return PPO("MlpPolicy", envs, seed=seed, device="cpu", **(settings | changes))


def cartpole_a2c(seed: int) -> A2C:
    """A2C on CartPole with RL Zoo's settings: eight envs, all else as SB3 has it."""
    envs = make_vec_env(CARTPOLE, n_envs=8, seed=seed)
    return A2C("MlpPolicy", envs, ent_coef=0.0, seed=seed, device="cpu")


def lunarlander(seed: int) -> PPO:
    """PPO on LunarLander with RL Zoo's settings."""
    envs = make_vec_env(LUNARLANDER, n_envs=16, seed=seed)
    return PPO(
        "MlpPolicy",
        envs,
        n_steps=1024,
        batch_size=64,
        n_epochs=4,
        gamma=0.999,
        gae_lambda=0.98,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )


def pong(seed: int) -> PPO:
    """PPO on Pong's pixels: SB3's own wrappers, 4 frames stacked, RL Zoo's settings for Atari."""
    import ale_py
    import gymnasium as gym
    from stable_baselines3.common.env_util import make_atari_env
    from stable_baselines3.common.vec_env import VecFrameStack

    gym.register_envs(ale_py)
    envs = VecFrameStack(make_atari_env(PONG, n_envs=8, seed=seed), 4)
    return PPO(
        "CnnPolicy",
        envs,
        n_steps=128,
        batch_size=256,
        n_epochs=4,
        learning_rate=lambda remaining: 2.5e-4 * remaining,
        clip_range=lambda remaining: 0.1 * remaining,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )


class StopWhenSolved(BaseCallback):
    """Greedy evaluation every `every` steps: `few` episodes, then 100 if those reach the threshold."""

    def __init__(self, env_id: str, threshold: float, every: int, few: int, seed: int) -> None:
        super().__init__()
        self.threshold, self.every, self.few = threshold, every, few
        self.env_id, self.eval_seed = env_id, seed + 10_000
        self.due = every
        self.score = float("nan")

    def _on_step(self) -> bool:
        if self.num_timesteps < self.due:
            return True
        self.due += self.every
        self.score = self._mean_return(self.few)
        if self.score < self.threshold:
            return True
        self.score = self._mean_return(100)
        return self.score < self.threshold

    def _mean_return(self, episodes: int) -> float:
        # one env per episode, all in one batch: far faster for SB3 than one env after another
        envs = make_vec_env(self.env_id, n_envs=episodes, seed=self.eval_seed)
        mean, _ = evaluate_policy(self.model, envs, n_eval_episodes=episodes, deterministic=True)
        envs.close()
        return float(mean)


def steps(seed: int, env_steps: int, env_id: str, algo: str = "ppo") -> dict[str, float]:
    """Env steps per second, rollout and learning together, without start-up."""
    model: A2C | PPO
    if env_id == PONG:
        model = pong(seed)
    else:
        model = cartpole_a2c(seed) if algo == "a2c" else cartpole(seed)
    start = time.perf_counter()
    model.learn(env_steps)
    seconds = time.perf_counter() - start
    return {"env_steps": model.num_timesteps, "seconds": seconds}


def solve(seed: int, env_id: str, env_steps: int) -> dict[str, float]:
    """When (wall clock) the policy was known to solve the env."""
    if env_id == CARTPOLE:
        model, stop = cartpole(seed), StopWhenSolved(CARTPOLE, 475, every=5_120, few=10, seed=seed)
    else:
        model, stop = lunarlander(seed), StopWhenSolved(LUNARLANDER, 200, every=25_000, few=20, seed=seed)
    model.learn(env_steps, callback=stop)
    return {"ended_at": time.time(), "env_steps": model.num_timesteps, "score": stop.score}


def first_update(seed: int) -> dict[str, float]:
    """When (wall clock) a rollout of 256 steps and its 20 epochs were done."""
    model = cartpole(seed)
    model.learn(256)
    return {"ended_at": time.time(), "env_steps": model.num_timesteps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["steps", "solve", "first-update"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--env-steps", type=int, default=100_000)
    parser.add_argument("--env", choices=[CARTPOLE, LUNARLANDER, PONG], default=CARTPOLE)
    parser.add_argument("--algo", choices=["ppo", "a2c"], default="ppo", help="of `steps`")
    options = parser.parse_args()
    if options.env != PONG:  # convolutions profit from every core
        torch.set_num_threads(1)
    if options.what == "steps":
        found = steps(options.seed, options.env_steps, options.env, options.algo)
    elif options.what == "solve":
        found = solve(options.seed, options.env, options.env_steps)
    else:
        found = first_update(options.seed)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
