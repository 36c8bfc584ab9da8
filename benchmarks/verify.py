"""Scores a run's best checkpoint in plain Gymnasium envs, by a loop that shares nothing with training's.

The envs' seeds are far from those that training and its own evaluations use.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gymnasium as gym
import numpy as np

from gymnast import api

FIRST_SEED = 990_000


def greedy_returns(run: Path, env_id: str, episodes: int) -> np.ndarray:
    """Return of one episode in each of `episodes` envs."""
    policy = api.load_policy(f"{run.name}/@best", runs_dir=run.parent)
    envs = [gym.make(env_id) for _ in range(episodes)]
    obs = np.stack([env.reset(seed=FIRST_SEED + i)[0] for i, env in enumerate(envs)])
    returns = np.zeros(episodes)
    running = list(range(episodes))
    while running:
        actions = policy.predict(obs[running])
        still = []
        for i, action in zip(running, actions, strict=True):
            obs[i], reward, terminated, truncated, _ = envs[i].step(action)
            returns[i] += float(reward)
            if not (terminated or truncated):
                still.append(i)
        running = still
    return returns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the run's folder")
    parser.add_argument("env_id")
    parser.add_argument("episodes", type=int, nargs="?", default=100)
    options = parser.parse_args()
    returns = greedy_returns(options.run, options.env_id, options.episodes)
    print(json.dumps({"mean_return": float(returns.mean()), "std_return": float(returns.std())}))


if __name__ == "__main__":
    main()
