"""sb3-contrib's side of the recurrent comparison: one measurement in this process, one JSON line out.

RecurrentPPO at RL Zoo's settings for CartPole without velocities, on CartPole itself: 8 envs × 32
steps, minibatches of 256, 20 epochs, an LSTM of 64 and a layer of 64 each for actor and critic. It
gets one torch thread, which is faster than two on networks of this size.
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.env_util import make_vec_env


def build(seed: int) -> RecurrentPPO:
    envs = make_vec_env("CartPole-v1", n_envs=8, seed=seed)
    network = {
        "lstm_hidden_size": 64,
        "enable_critic_lstm": True,
        "net_arch": {"pi": [64], "vf": [64]},
        "activation_fn": torch.nn.ReLU,
    }
    return RecurrentPPO(
        "MlpLstmPolicy",
        envs,
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        ent_coef=0.0,
        learning_rate=lambda remaining: 1e-3 * remaining,
        clip_range=lambda remaining: 0.2 * remaining,
        policy_kwargs=network,
        seed=seed,
        device="cpu",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--env-steps", type=int, default=20_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = build(options.seed)
    start = time.perf_counter()
    model.learn(options.env_steps)
    seconds = time.perf_counter() - start
    print(json.dumps({"env_steps": model.num_timesteps, "seconds": seconds}))


if __name__ == "__main__":
    main()
