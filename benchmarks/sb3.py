"""Stable-Baselines3's side of each comparison: one measurement in this process, one JSON line out.

It runs at its best: one torch thread for small networks, where it is faster than two, evaluation episodes
stepped together, and the long evaluation only once a short one has passed.
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

import zoo

CARTPOLE = "CartPole-v1"
PONG = "PongNoFrameskip-v4"


def cartpole_a2c(seed: int) -> A2C:
    """A2C on CartPole with RL Zoo's settings: eight envs, all else as SB3 has it."""
    envs = make_vec_env(CARTPOLE, n_envs=8, seed=seed)
    return A2C("MlpPolicy", envs, ent_coef=0.0, seed=seed, device="cpu")


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
    """Greedy evaluation every `every` steps: `few` episodes, then `many` if those reach the threshold."""

    def __init__(self, check: argparse.Namespace) -> None:
        super().__init__()
        self.check, self.eval_seed = check, check.seed + 10_000
        self.due, self.began = check.every, time.time()
        self.score = float("nan")

    def _on_step(self) -> bool:
        if time.time() - self.began > self.check.wall_time:
            return False
        if self.num_timesteps < self.due:
            return True
        self.due += self.check.every
        self.score = self._mean_return(self.check.few)
        if self.score < self.check.threshold:
            return True
        self.score = self._mean_return(self.check.many)
        return bool(self.score < self.check.threshold)

    def _mean_return(self, episodes: int) -> float:
        # one env per episode, all in one batch: far faster for SB3 than one env after another
        envs: VecEnv = make_vec_env(self.check.env, n_envs=episodes, seed=self.eval_seed)
        if isinstance(self.training_env, VecNormalize):
            envs = VecNormalize(envs, training=False, norm_reward=False)
            envs.obs_rms = self.training_env.obs_rms
        mean, _ = evaluate_policy(self.model, envs, n_eval_episodes=episodes, deterministic=True, warn=False)
        envs.close()
        return float(mean)


def steps(seed: int, env_steps: int, env_id: str, algo: str = "ppo") -> dict[str, float]:
    """Env steps per second, rollout and learning together, without start-up."""
    model: A2C | PPO
    if env_id == PONG:
        model = pong(seed)
    else:
        model = cartpole_a2c(seed) if algo == "a2c" else zoo.ppo(env_id, seed)
    start = time.perf_counter()
    model.learn(env_steps)
    seconds = time.perf_counter() - start
    return {"env_steps": model.num_timesteps, "seconds": seconds}


def solve(check: argparse.Namespace) -> dict[str, float]:
    """When (wall clock) the policy was known to reach the threshold, or training ended without."""
    model, stop = zoo.ppo(check.env, check.seed), StopWhenSolved(check)
    model.learn(check.env_steps, callback=stop)
    return {"ended_at": time.time(), "env_steps": model.num_timesteps, "score": stop.score}


def first_update(seed: int) -> dict[str, float]:
    """When (wall clock) a rollout of 256 steps and its 20 epochs were done."""
    model = zoo.ppo(CARTPOLE, seed)
    model.learn(256)
    return {"ended_at": time.time(), "env_steps": model.num_timesteps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["steps", "solve", "first-update"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--env-steps", type=int, default=100_000)
    parser.add_argument("--env", choices=[*zoo.SETTINGS, PONG], default=CARTPOLE)
    parser.add_argument("--algo", choices=["ppo", "a2c"], default="ppo", help="of `steps`")
    solving = parser.add_argument_group("solve")
    solving.add_argument("--threshold", type=float, default=475)
    solving.add_argument("--every", type=int, default=5_120, help="env steps between evaluations")
    solving.add_argument("--few", type=int, default=10, help="episodes of an evaluation")
    solving.add_argument("--many", type=int, default=100, help="episodes that confirm one")
    solving.add_argument("--wall-time", type=float, default=float("inf"), help="give up after these seconds")
    options = parser.parse_args()
    if options.env != PONG:  # convolutions profit from every core
        torch.set_num_threads(1)
    if options.what == "steps":
        found = steps(options.seed, options.env_steps, options.env, options.algo)
    elif options.what == "solve":
        found = solve(options)
    else:
        found = first_update(options.seed)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
