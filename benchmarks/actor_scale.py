"""How far one learner scales with actors that only step (env.backend: remote), by simulation.

1. An env whose step waits 5 ms and uses no CPU, 8 of them per actor, collected with a small policy: env steps
   per second with 1, 2, 4 and 8 actors, and the share of what so many times one actor would make.
2. What a step costs the learner itself, as CPU time of its thread, so that waiting and other load on the
   machine do not count: for rows of CartPole and for pictures. The inverse is where a learner saturates.

    python benchmarks/actor_scale.py [--seconds 6]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # where actors, too, find the envs below

from gymnast.config.load import load_config
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
from gymnast.training.session import build_session

ENVS_PER_ACTOR = 8
WAIT = 0.005  # seconds of a step


class Waits(gym.Env[np.ndarray, Any]):
    """A step takes its time, and none of the CPU's, as a simulator on another machine would."""

    observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = 200
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        time.sleep(WAIT)
        self.left -= 1
        return np.zeros(4, np.float32), 1.0, self.left == 0, False, {}


class Shows(gym.Env[np.ndarray, Any]):
    """The same picture at once, whatever is done."""

    action_space = gym.spaces.Discrete(2)

    def __init__(self, shape: tuple[int, ...] = (84, 84, 1)) -> None:
        kind = np.uint8 if len(shape) == 3 else np.float32
        self.observation_space = gym.spaces.Box(0, 255 if len(shape) == 3 else 1, tuple(shape), kind)
        self.shown = np.zeros(shape, kind)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return self.shown, {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return self.shown, 0.0, False, False, {}


def collected_per_second(actors: int, seconds: float, groups: int = 1) -> tuple[float, float]:
    """Env steps that a collector gets from so many actors, policy included: the median of rollouts, and the
    tenth that other load on the machine disturbed least."""
    n_steps = 10
    settings = {
        "env.id": "actor_scale:Waits",
        "env.n_envs": ENVS_PER_ACTOR * actors,
        "env.max_episode_steps": 200,
        "env.backend": "remote",
        "env.actors.count": actors,
        "env.groups": groups,
        "algo.n_steps": n_steps,
        "algo.batch_size": "all",
    }
    session = build_session(load_config("CartPole-v1:ppo", overrides=settings).config)
    try:
        rng = np.random.default_rng(0)
        session.source.collect(session.learner.policy, rng, None)
        took: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(took) < 5:
            start = time.perf_counter()
            session.source.collect(session.learner.policy, rng, None)
            took.append(time.perf_counter() - start)
    finally:
        session.envs.close()
    steps = n_steps * ENVS_PER_ACTOR * actors
    return steps / float(np.median(took)), steps / float(np.quantile(took, 0.1))


def learner_cost(shape: tuple[int, ...], n_envs: int, actors: int, seconds: float) -> tuple[float, float]:
    """CPU seconds of the learner's thread per step of all envs, and the bytes that it receives in one."""
    config = EnvConfig(id="actor_scale:Shows", kwargs={"shape": list(shape)}, actors={"count": actors})
    envs = build_envs(config, n_envs=n_envs, seed=0, backend="remote")
    try:
        obs = envs.reset()
        actions = np.zeros(n_envs, np.int64)
        rollout = np.zeros_like(obs)
        took: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.thread_time()
            for _ in range(20):
                rollout[:] = envs.step(actions).obs  # where a collector keeps it
            took.append((time.thread_time() - start) / 20)
    finally:
        envs.close()
    return float(np.median(took)), obs.nbytes + n_envs * (8 + 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=6.0, help="for each figure")
    seconds = parser.parse_args().seconds
    print(f"steps that wait {WAIT * 1000:g} ms, {ENVS_PER_ACTOR} envs per actor")
    print(
        f"{'actors':>8}{'groups':>8}{'steps/s':>10}{'of linear':>11}{'least disturbed':>17}{'of linear':>11}"
    )
    alone: tuple[float, float] | None = None
    for actors, groups in ((1, 1), (2, 1), (4, 1), (8, 1), (8, 2)):
        rates = collected_per_second(actors, seconds, groups)
        alone = alone or rates
        of_linear = [rate / (actors * first) for rate, first in zip(rates, alone, strict=True)]
        print(
            f"{actors:>8}{groups:>8}{rates[0]:>10,.0f}{of_linear[0]:>11.1%}{rates[1]:>17,.0f}{of_linear[1]:>11.1%}",
            flush=True,
        )
    print("\nwhat a step costs the learner itself (CPU time of its thread, the policy left out)")
    print(
        f"{'observation':>14}{'envs':>6}{'actors':>8}{'µs/step':>10}{'env steps/s':>13}{'MB/s':>8}",
        flush=True,
    )
    for shape in ((4,), (84, 84, 1), (84, 84, 4)):
        for n_envs, actors in ((32, 2), (32, 8), (256, 8)):
            cost, size = learner_cost(shape, n_envs, actors, seconds / 2)
            name, rate, per_second = "×".join(map(str, shape)), n_envs / cost, size / cost / 1e6
            print(
                f"{name:>14}{n_envs:>6}{actors:>8}{cost * 1e6:>10,.0f}{rate:>13,.0f}{per_second:>8,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
